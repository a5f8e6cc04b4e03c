package check

import (
	"strconv"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// Read parses and checks a file in which the dims under pl.dynamic stay symbols. What o.Defines says of them is
// returned: values of a run, where File would bind them for good. With errors in list the module is not for
// compiling.
func Read(file *source.File, o Options, list *diag.List) (m *ir.Module, dims map[string]int64) {
	tree := syntax.Parse(file, syntax.ModeFor(file.Name), list)
	if list.HasErrors() {
		return nil, nil
	}
	dims, o.Defines = splitDefines(o.Defines, dynamicNames(tree), list)
	return File(tree, o, list), dims
}

// dynamicNames are the symbols that a file declares: NR = pl.dynamic("NR").
func dynamicNames(f *syntax.File) map[string]bool {
	out := map[string]bool{}
	for _, s := range f.Stmts {
		a, ok := s.(*syntax.Assign)
		if !ok {
			continue
		}
		call, ok := a.Value.(*syntax.Call)
		if !ok || syntax.Dotted(call.Fn) != "pl.dynamic" || len(call.Args) != 1 {
			continue
		}
		if name, ok := call.Args[0].(*syntax.Str); ok {
			out[name.Value] = true
		}
	}
	return out
}

func splitDefines(defines map[string]string, dynamic map[string]bool, list *diag.List) (dims map[string]int64, constants map[string]string) {
	dims, constants = map[string]int64{}, map[string]string{}
	for _, name := range sortedKeys(defines) {
		text := defines[name]
		if !dynamic[name] {
			constants[name] = text
			continue
		}
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			list.Add(diag.New(diag.BadOption, source.Span{}, "-D %s=%s: %s is a dimension, so it takes a whole number", name, text, name))
		}
		dims[name] = n
	}
	return dims, constants
}
