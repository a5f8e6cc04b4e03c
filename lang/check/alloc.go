package check

import (
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/syntax"
)

// allocation checks the rules of `buf = pld.alloc_window_buffer(...)`: in host functions, as the whole
// right side of a simple assignment, under a name of its own. It reports whether s was one.
func (f *fn) allocation(s *syntax.Assign) bool {
	call, ok := syntax.Unparen(s.Value).(*syntax.Call)
	if !ok || !f.isAlloc(call) {
		return false
	}
	name, simple := s.Targets[0].(*syntax.Name)
	if !simple || len(s.Targets) != 1 {
		f.strayAlloc(call)
		f.poison(assignedNames(s))
		return true
	}
	if k := keywordNode(call, "name"); k != nil {
		f.errorf(diag.BadAlloc, k.At, "name= cannot be passed explicitly: an allocation is called what it is assigned to")
		f.poison([]string{name.Text})
		return true
	}
	k, sp := ir.Lookup(f.allocPath(call))
	v := f.opCall(opName{k, sp, syntax.Dotted(call.Fn)}, call)
	if !isBad(v) && keyword(call, "domain") == nil {
		if old, ok := f.allocs[name.Text]; ok && old != name.At {
			f.errorf(diag.BadAlloc, name.At, "a window buffer called %s is already declared", name.Text).
				Note(old, "declared here").Help("use another name: allocations are known by name in the whole program")
			v = bad{}
		} else {
			f.allocs[name.Text] = name.At
		}
	}
	f.bindName(name, v)
	return true
}

// strayAlloc is an allocation inside an expression.
func (f *fn) strayAlloc(call *syntax.Call) value {
	if f.legal(ir.AllocWindow, "", call.At) {
		f.errorf(diag.BadAlloc, call.At, "%s must appear as the right side of a simple assignment", syntax.Dotted(call.Fn)).
			Help("write buf = %s(...)", syntax.Dotted(call.Fn))
	}
	return bad{}
}

func (f *fn) allocPath(call *syntax.Call) string {
	p, _ := f.pathOf(call.Fn)
	return p
}

func (f *fn) isAlloc(call *syntax.Call) bool {
	k, _ := ir.Lookup(f.allocPath(call))
	return k == ir.AllocWindow
}

func keywordNode(call *syntax.Call, name string) *syntax.Keyword {
	for _, k := range call.Keywords {
		if k.Name.Text == name {
			return k
		}
	}
	return nil
}
