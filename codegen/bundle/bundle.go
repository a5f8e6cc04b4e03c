// Package bundle is a compiled program in a folder: what `ptoc compile -o DIR` writes and `ptoc run DIR`
// runs on a machine without a compiler.
//
//	manifest.json   what the rest is, and what it needs
//	program.pl      the program after all passes, as printed IR: its host functions are walked, the
//	                signatures of its kernels say how to call them
//	kernels.so      the kernels (absent if there are none)
//	engine.so       the engine that runs ranks
//
// For a GPU, kernels.ptx stands in the place of the last two.
package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ptoc/codegen/cpp"
	"ptoc/codegen/toolchain"
	"ptoc/internal/cachedir"
	"ptoc/ir"
	"ptoc/lang/source"
)

// Format is the version of the layout. It changes whenever an older ptoc could not run the bundle right:
// the kernel ABI is part of it.
const Format = 4

// Names of the files.
const (
	manifestFile = "manifest.json"
	programFile  = "program.pl"
	kernelsFile  = "kernels.so"
	engineFile   = "engine.so"
)

// Manifest is manifest.json.
type Manifest struct {
	Format   int      `json:"format"`
	Name     string   `json:"name"`
	Entry    string   `json:"entry"`
	Source   string   `json:"source"`
	Ranks    int      `json:"ranks,omitempty"` // compiled for this number of ranks; 0: any
	Kernels  []Kernel `json:"kernels"`
	Sites    []Site   `json:"sites"` // what faults number
	Compiler string   `json:"compiler"`
	Flags    []string `json:"flags"`
	Arch     string   `json:"arch"`
	CPU      []string `json:"cpu"` // instruction sets that the code may use

	// A bundle for GPUs has a target, "cuda", and needs no particular CPU.
	Target string `json:"target,omitempty"`
	GPU    string `json:"gpu,omitempty"` // the oldest architecture that takes the PTX: "sm_80"
	PTXSum string `json:"ptxSum,omitempty"`

	Sum string `json:"sum"` // of the program and of what stands above
}

// seal is the sum of a manifest and its program.
func (m Manifest) seal(program string) (string, error) {
	m.Sum = ""
	text, err := json.Marshal(m)
	return sum(string(text) + program), err
}

// Kernel is the signature of one entry, in order of its argument slots.
type Kernel struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Params []Param  `json:"params"`
	Syms   []string `json:"syms"` // dims that follow the parameters
	Arena  bool     `json:"arena,omitempty"`

	Threads int `json:"threads,omitempty"` // of a GPU's block
	Shared  int `json:"shared,omitempty"`  // bytes of its shared memory

	// Of a kernel for a grid of blocks: what they share.
	Grid    bool  `json:"grid,omitempty"`
	Told    int64 `json:"told,omitempty"` // bytes of values
	Tensors bool  `json:"tensors,omitempty"`
}

// Param is one parameter; a window takes two slots, everything else one.
type Param struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Dir    string `json:"dir"`
	Window bool   `json:"window,omitempty"`
}

// Site is an op that may fail.
type Site struct {
	Func string `json:"func"`
	At   string `json:"at"` // file:line:col
	Op   string `json:"op"`
	Text string `json:"text,omitempty"` // the program's line
}

// Artifact is everything that a bundle is made of.
type Artifact struct {
	Module   *ir.Module // after all passes
	Entry    string
	Source   string
	Ranks    int
	Code     *cpp.Output
	Kernels  string // path of the shared object; "" if there are no kernels
	Engine   string
	Compiler string
	Flags    []string
	GPU      *GPUCode // instead of Code, Kernels and Engine
	Close    func()   // if set, to be called when Kernels and Engine are no longer needed
}

// Done calls Close.
func (a *Artifact) Done() {
	if a.Close != nil {
		a.Close()
	}
}

// Entries is the number of kernels.
func (a *Artifact) Entries() int {
	if a.GPU != nil {
		return len(a.GPU.Kernels)
	}
	return len(a.Code.Kernels)
}

// Write makes dir with the bundle in it. It appears whole or not at all; a bundle that is there already
// is replaced, any other folder is an error. Where dir is a link, the folder behind it is written.
func Write(dir string, a *Artifact) error {
	dir = filepath.Clean(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if err := replaceable(dir); err != nil {
		return err
	}
	abandoned(filepath.Dir(dir))
	tmp, err := os.MkdirTemp(filepath.Dir(dir), unfinished+"*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", dir, err)
	}
	defer os.RemoveAll(tmp)
	if err := fill(tmp, a); err != nil {
		return fmt.Errorf("cannot write %s: %w", dir, err)
	}
	if err := swap(tmp, dir); err != nil {
		return fmt.Errorf("cannot write %s: %w", dir, err)
	}
	return nil
}

// unfinished begins the name of a bundle that is being written.
const unfinished = ".ptoc-bundle-"

// abandoned removes from dir what nobody writes any more: whoever did was killed.
func abandoned(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), unfinished) && time.Since(info.ModTime()) > cachedir.Abandoned {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// ours are the files of bundles: what a folder has beside them is somebody's work.
var ours = []string{manifestFile, programFile, kernelsFile, engineFile, ptxFile}

// replaceable reports why dir may not be written to. Many things have a manifest.json: ours has a format.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot write %s: %w", dir, err)
	case len(entries) == 0:
		return nil
	}
	if !IsBundle(dir) {
		return fmt.Errorf("%s is not empty and not a bundle: choose another folder", dir)
	}
	for _, e := range entries {
		if !slices.Contains(ours, e.Name()) {
			return fmt.Errorf("%s is a bundle, and has %s in it too: choose another folder, or move that away", dir, e.Name())
		}
	}
	return nil
}

// formatOf is the format of a manifest, whatever else may be in it; 0 if it is none.
func formatOf(manifest []byte) int {
	var m struct {
		Format int `json:"format"`
	}
	if json.Unmarshal(manifest, &m) != nil {
		return 0
	}
	return m.Format
}

// swap puts the finished folder tmp where dir is. What was there is in tmp then, or gone.
func swap(tmp, dir string) error {
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	err := os.Rename(tmp, dir)
	if err == nil {
		return nil
	}
	// A folder that is not empty cannot be replaced by rename: the two change places, at once.
	if unix.Renameat2(unix.AT_FDCWD, tmp, unix.AT_FDCWD, dir, unix.RENAME_EXCHANGE) == nil {
		return nil
	}
	// Not every file system can: move it aside first.
	old := tmp + ".old"
	if rerr := os.Rename(dir, old); rerr != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		os.Rename(old, dir)
		return err
	}
	return os.RemoveAll(old)
}

func fill(dir string, a *Artifact) error {
	m, program := a.manifest(), ir.Print(a.Module)
	var err error
	if m.Sum, err = m.seal(program); err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, manifestFile), append(text, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, programFile), []byte(program), 0o644); err != nil {
		return err
	}
	if a.GPU != nil {
		return a.GPU.fill(dir)
	}
	if a.Kernels != "" {
		if err := toolchain.Export(a.Kernels, filepath.Join(dir, kernelsFile)); err != nil {
			return err
		}
	}
	return toolchain.Export(a.Engine, filepath.Join(dir, engineFile))
}

func (a *Artifact) manifest() *Manifest {
	m := &Manifest{Format: Format, Name: a.Module.Name, Entry: a.Entry, Source: a.Source, Ranks: a.Ranks,
		Kernels: []Kernel{}, Sites: []Site{}, Compiler: a.Compiler, Flags: a.Flags, Arch: arch(), CPU: cpuFeatures()}
	if a.GPU != nil {
		a.GPU.describe(m)
		return m
	}
	for _, k := range a.Code.Kernels {
		out := Kernel{Name: k.Name, Kind: k.Kind.String(), Params: []Param{}, Syms: k.Syms, Arena: k.Arena}
		for _, p := range k.Params {
			out.Params = append(out.Params, Param{Name: p.Name, Type: p.Type.String(), Dir: p.Dir.String(), Window: p.Window})
		}
		m.Kernels = append(m.Kernels, out)
	}
	for _, s := range a.Code.Sites {
		m.addSite(s.Func, s.Op, s.Span)
	}
	return m
}

func (m *Manifest) addSite(fn, op string, at source.Span) {
	site := Site{Func: fn, Op: op}
	if at.IsValid() {
		site.At = at.String()
		site.Text = strings.TrimSpace(at.File.Line(at.Pos().Line))
	}
	m.Sites = append(m.Sites, site)
}

// Bundle is a bundle that was opened: it fits this machine and is complete.
type Bundle struct {
	Manifest
	Program *source.File // to be parsed and checked; no passes are left to run
	Kernels string       // path; "" if there are no kernels
	Engine  string
	PTX     string // the text, of a bundle for GPUs
}

// IsBundle reports whether path is a folder with a manifest of ours.
func IsBundle(path string) bool {
	info, err := os.Stat(filepath.Join(path, manifestFile))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	text, err := os.ReadFile(filepath.Join(path, manifestFile))
	return err == nil && formatOf(text) != 0
}

// Open reads and checks a bundle.
func Open(dir string) (*Bundle, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s is not a bundle: it has no %s (make one with ptoc compile -o DIR)", dir, manifestFile)
		}
		return nil, err
	}
	// Another version's manifest need not have what is read below.
	if f := formatOf(text); f != 0 && f != Format {
		return nil, fmt.Errorf("%s was made by another version of ptoc: bundle format %d, this one reads %d; compile the program again", dir, f, Format)
	}
	b := &Bundle{}
	if err := json.Unmarshal(text, &b.Manifest); err != nil {
		return nil, fmt.Errorf("%s: the manifest is damaged: %w", dir, err)
	}
	if b.Format == 0 {
		return nil, fmt.Errorf("%s is not a bundle: its %s has no format", dir, manifestFile)
	}
	if err := b.fits(dir); err != nil {
		return nil, err
	}
	program, err := os.ReadFile(filepath.Join(dir, programFile))
	if err != nil {
		return nil, fmt.Errorf("%s: the bundle is not complete: %w", dir, err)
	}
	if want, err := b.seal(string(program)); err != nil || b.Sum != want {
		return nil, fmt.Errorf("%s: %s or %s is damaged: compile the program again", dir, manifestFile, programFile)
	}
	b.Program = source.NewFile(filepath.Join(dir, programFile), string(program))
	if b.Target == CUDA {
		if err := b.readPTX(dir); err != nil {
			return nil, err
		}
		return b, nil
	}
	b.Engine = filepath.Join(dir, engineFile)
	objects := []string{b.Engine}
	if len(b.Manifest.Kernels) > 0 {
		b.Kernels = filepath.Join(dir, kernelsFile)
		objects = append(objects, b.Kernels)
	}
	for _, o := range objects {
		if !toolchain.Intact(o) {
			return nil, fmt.Errorf("%s: %s is missing or damaged: compile the program again", dir, filepath.Base(o))
		}
	}
	return b, nil
}

// fits reports why this ptoc on this machine cannot run the bundle.
func (b *Bundle) fits(dir string) error {
	switch {
	case b.Target == CUDA:
		return nil
	case b.Target != "":
		return fmt.Errorf("%s was compiled for %s, which this ptoc does not know", dir, b.Target)
	case b.Arch != arch():
		return fmt.Errorf("%s was compiled for %s, this machine is %s", dir, b.Arch, arch())
	}
	if missing := missingFeatures(b.CPU); len(missing) > 0 {
		return fmt.Errorf("%s was compiled for a CPU with %s, which this one lacks; compile the program here", dir, strings.Join(missing, ", "))
	}
	return nil
}
