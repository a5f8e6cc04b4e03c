package check

import (
	"fmt"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// distinct: the parameters of a kernel that writes one of them are different memory. What depends on run-time
// values is left to the run.
func (f *fn) distinct(in *instance, args []*ir.Value, spans []source.Span) {
	if k := in.decl.kind; k != ir.Chip && k != ir.InCore || in.failed {
		return
	}
	params := in.fn.Params()
	written := func(i int) bool { return in.fn.Dirs[i] != ir.In || in.wrote[params[i]] }
	for j, b := range args {
		for i, a := range args[:j] {
			if !written(i) && !written(j) || !ir.IsMemory(a) || !ir.IsMemory(b) || ir.OverlapOf(a, b) != ir.Overlaps {
				continue
			}
			w := j
			if !written(j) {
				w = i
			}
			what := fmt.Sprintf("the arguments for %s and %s of %s overlap", params[i].Name, params[j].Name, in.decl.name)
			if a == b && a.Name != "" {
				what = fmt.Sprintf("%s is passed to both %s and %s of %s", a.Name, params[i].Name, params[j].Name, in.decl.name)
			}
			f.errorf(diag.Overlapping, spans[j], "%s, which writes %s", what, params[w].Name).
				Note(spans[i], "the other one").
				Note(in.decl.param(params[w].Name), "%s is declared here", params[w].Name).
				Help("kernels take their parameters to be different memory: pass a copy, or the whole once, with offsets")
			return
		}
	}
}
