// Package suites holds ptoc's own benchmarks. Each takes a program through the whole pipeline, from
// text to machine code, measures it, and makes a table.
package suites

import (
	"context"
	"embed"
	"io/fs"
	"strings"
	"sync"

	"ptoc/codegen/cpp"
	"ptoc/codegen/target"
	"ptoc/codegen/toolchain"
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/passes"
	"ptoc/runtime/controller"
	"ptoc/runtime/native"
)

//go:embed programs/*.pl
var programs embed.FS

// program is the text of one of this package's programs, with words replaced in pairs.
func program(name string, replace ...string) *source.File {
	text, err := fs.ReadFile(programs, "programs/"+name)
	if err != nil {
		panic(err) // embedded
	}
	return source.NewFile(name, strings.NewReplacer(replace...).Replace(string(text)))
}

// compiled is a program that is ready to run.
type compiled struct {
	module  *ir.Module
	kernels []cpp.Kernel
	path    string // of the kernels' shared object
	engine  string // of the engine's
	choices []passes.Choice
}

// compile takes a file through the pipeline.
func compile(ctx context.Context, file *source.File, o check.Options, ranks int) (*compiled, error) {
	tc, err := toolchain.Open()
	if err != nil {
		return nil, err
	}
	c := &compiled{}
	var engineErr error
	var wg sync.WaitGroup
	wg.Go(func() { c.engine, engineErr = native.Build(ctx, tc, toolchain.NoSanitizer) })
	err = c.kernelsOf(ctx, tc, file, o, ranks)
	wg.Wait()
	if err == nil {
		err = engineErr
	}
	return c, err
}

func (c *compiled) kernelsOf(ctx context.Context, tc *toolchain.Toolchain, file *source.File, o check.Options, ranks int) error {
	list := &diag.List{}
	m := passes.Load(file, o, list)
	if list.HasErrors() {
		return list
	}
	if l := passes.Run(m, passes.Options{Ranks: ranks, Cache: target.LastLevelCache(), Choices: &c.choices}); l.HasErrors() {
		return l
	}
	out, err := cpp.Generate(m)
	if err != nil {
		return err
	}
	c.module, c.kernels = m, out.Kernels
	res, err := tc.Compile(ctx, toolchain.Unit{Name: file.Name + ".cpp", Parts: out.Parts}, toolchain.Options{})
	c.path = res.Path
	return err
}

// object is c for the controller.
func (c *compiled) object() controller.Object {
	o := controller.Object{Path: c.path, Syms: map[string][]string{}}
	for _, k := range c.kernels {
		o.Syms[k.Name] = k.Syms
	}
	return o
}

func (c *compiled) syms(kernel string) []string {
	for _, k := range c.kernels {
		if k.Name == kernel {
			return k.Syms
		}
	}
	return nil
}
