package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"ptoc/codegen/bundle"
	"ptoc/codegen/ptx"
	"ptoc/codegen/toolchain"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/runtime/controller"
	"ptoc/runtime/failure"
)

// BuildOptions say what Build compiles.
type BuildOptions struct {
	File  string
	Check check.Options
	Ranks int // 0: for any number

	// Emit is "ir", "cpp", "so", "llvm", "ptx", or "" for everything.
	Emit string

	Target string // "cpu" or "cuda"; "": "cpu"
	Arch   string // oldest GPU architecture; "": "sm_80"
	GPU    ptx.Options
}

// Emits are the values of BuildOptions.Emit, by target.
var Emits = map[string][]string{"cpu": {"ir", "cpp", "so"}, "cuda": {"ir", "llvm", "ptx"}}

// Build compiles a program for a bundle, as far as o.Emit needs it. Warnings may be there without an
// error.
func Build(ctx context.Context, o BuildOptions) (*bundle.Artifact, *diag.List, error) {
	ro := Options{File: o.File, Entry: o.Check.Entry, Defines: o.Check.Defines, Set: o.Check.Set, Target: o.Target, Arch: o.Arch, GPU: o.GPU}
	ro.ctx = ctx
	if err := ro.check(); err != nil {
		return nil, nil, err
	}
	if bundle.IsBundle(o.File) {
		return nil, nil, badOption("%s is compiled already", o.File)
	}
	u, err := load(&ro)
	if err != nil {
		return nil, nil, err
	}
	if err := u.lower(o.Ranks); err != nil {
		return nil, nil, err
	}
	a := &bundle.Artifact{Module: u.lowered, Entry: u.entry, Source: o.File, Ranks: o.Ranks}
	if o.Emit == "ir" {
		return a, u.warnings, nil
	}
	if o.Target == "cuda" {
		if a.GPU, err = u.compilePTX(o.Emit != "llvm"); err == nil {
			err = ro.interrupted() // LLVM does not look
		}
		return a, u.warnings, err
	}
	if o.Emit == "cpp" {
		a.Code, err = u.generate()
		return a, u.warnings, err
	}
	if err := u.compile(ctx); err != nil {
		u.closeTools()
		return nil, nil, err
	}
	a.Close = u.closeTools
	a.Code, a.Kernels, a.Engine = u.code, u.object.Path, u.engine
	if c, err := toolchain.Find(); err == nil {
		a.Compiler = c.Version()
	}
	a.Flags = toolchain.Options{}.CommandLine()
	return a, u.warnings, nil
}

// Binary is the shared object of a, for --emit so.
func Binary(a *bundle.Artifact) ([]byte, error) {
	if a.Kernels == "" {
		return nil, fmt.Errorf("%s has no kernels", strings.TrimSpace(a.Source))
	}
	return os.ReadFile(a.Kernels)
}

// loadBundle takes what `ptoc compile` wrote: all passes have run, and the kernels are compiled.
func loadBundle(o *Options) (*unit, error) {
	start := time.Now()
	b, err := bundle.Open(o.File)
	if errors.Is(err, fs.ErrPermission) {
		return nil, diag.Unreadable(err)
	}
	if err != nil {
		return nil, badOption("%v", err)
	}
	if flag := o.forGPUs(); flag != "" {
		return nil, badOption("%s is compiled already: %s is for ptoc compile", o.File, flag)
	}
	if b.Ranks > 0 && o.Ranks > 0 && o.Ranks != b.Ranks {
		return nil, badOption("%s was compiled for %d ranks, not for %d", o.File, b.Ranks, o.Ranks)
	}
	if b.Ranks > 0 {
		o.Ranks = b.Ranks
	}
	u := &unit{o: o, file: b.Program, warnings: &diag.List{}, bundled: true, cached: true, engine: b.Engine}
	entry, asked := b.Entry, o.Entry
	if asked != "" {
		entry, o.Entry = asked, "" // no factory is left to be entered
	}
	if err := u.checkFile(entry); err != nil {
		return nil, err
	}
	if asked != "" && u.entry != asked {
		return nil, diag.New(diag.UnknownEntry, source.Span{}, "%s has no function %s to enter", o.File, asked).
			Help("it was compiled to begin at %s", b.Entry)
	}
	u.warnings = &diag.List{} // were printed when it was compiled
	if b.Target == bundle.CUDA {
		u.frontTime = time.Since(start)
		return u, u.takePTX(b)
	}
	if o.Target == "cuda" {
		return nil, badOption("%s was compiled for the CPU: compile it with --target cuda", o.File)
	}
	u.object = controller.Object{Path: b.Kernels, Syms: map[string][]string{}}
	for _, k := range b.Manifest.Kernels {
		u.object.Syms[k.Name] = k.Syms
	}
	for _, s := range b.Sites {
		u.object.Sites = append(u.object.Sites, failure.Place{Text: s.At, Op: s.Op})
	}
	u.frontTime = time.Since(start)
	return u, nil
}
