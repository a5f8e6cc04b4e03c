package run

import (
	"errors"

	"ptoc/codegen/ptx"
	"ptoc/ir"
	"ptoc/lang/diag"
)

// BuildGPU compiles a program's kernels for a GPU and gives the text of one stage: o.Emit is "ir", "llvm"
// or "ptx"; fast asks for approximate maths. Warnings may be there without an error.
func BuildGPU(o BuildOptions, arch string, fast bool) (string, *diag.List, error) {
	ro := Options{File: o.File, Entry: o.Check.Entry, Defines: o.Check.Defines, Set: o.Check.Set}
	if err := ro.check(); err != nil {
		return "", nil, err
	}
	u, err := load(&ro)
	if err != nil {
		return "", nil, err
	}
	if err := u.lower(o.Ranks); err != nil {
		return "", nil, err
	}
	if o.Emit == "ir" {
		return ir.Print(u.lowered), u.warnings, nil
	}
	gen, err := ptx.Generate(u.lowered, ptx.Options{FastMath: fast})
	var refused *ptx.Error
	if errors.As(err, &refused) {
		return "", nil, diag.New(diag.NotInCxx, refused.Span, "%s", refused.Msg)
	}
	if err != nil || o.Emit == "llvm" {
		return gen.LLVM, u.warnings, err
	}
	text, err := ptx.Compile(gen.LLVM, arch)
	return text, u.warnings, err
}
