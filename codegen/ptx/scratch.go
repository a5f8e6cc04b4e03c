package ptx

import (
	"ptoc/codegen/lower"
	"ptoc/ir"
)

// Scratch is the global scratch of a kernel that was compiled before and is known to need some: what
// Kernel.Arena was then.
func Scratch(f *ir.Func) (need ir.Dim, err error) {
	defer lower.Catch(&err)
	return (&lower.Scratch{}).Of(f), nil
}
