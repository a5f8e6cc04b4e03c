package ptx

import "ptoc/ir"

// Scratch is the global scratch of a kernel that was compiled before and is known to need some: what
// Kernel.Arena was then.
func Scratch(f *ir.Func) (need ir.Dim, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			err = e
		default:
			panic(e)
		}
	}()
	return (&gen{}).need(f), nil
}
