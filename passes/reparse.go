package passes

import (
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// Load reads and checks a file. With errors in list the module is not for compiling.
func Load(file *source.File, o check.Options, list *diag.List) *ir.Module {
	tree := syntax.Parse(file, syntax.ModeFor(file.Name), list)
	if list.HasErrors() {
		return nil
	}
	return check.File(tree, o, list)
}

// Reparse reads printed IR back; it is what Options.Reparse wants.
func Reparse(file *source.File) (*ir.Module, error) {
	var list diag.List
	m := Load(file, check.Options{}, &list)
	return m, list.Err()
}
