package passes

import (
	"sync"

	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/syntax"
	"ptoc/stdlib"
)

// newLibrary gives access to stdlib. The text is parsed once per process; a library belongs to one
// module and one goroutine.
func newLibrary() *check.Library {
	var list diag.List
	lib := check.NewLibrary(libraryTrees(), &list)
	if err := list.Err(); err != nil {
		panic(err)
	}
	return lib
}

var libraryTrees = sync.OnceValue(func() []*syntax.File {
	var list diag.List
	var out []*syntax.File
	for _, f := range stdlib.Files() {
		out = append(out, syntax.Parse(f, syntax.Strict, &list))
	}
	if err := list.Err(); err != nil {
		panic(err)
	}
	return out
})

// instantiate is the library function of t for t's arguments, in the module.
func (l *composites) instantiate(t template) (*ir.Func, error) {
	if l.lib == nil {
		l.lib = newLibrary()
	}
	types := make([]ir.Type, len(t.args))
	for i, v := range t.args {
		types[i] = v.Type
	}
	return l.lib.Instantiate(t.name, types, t.consts, l.m)
}
