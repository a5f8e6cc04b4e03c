package cpp

import "ptoc/ir"

// A large module is compiled in parts, side by side. Functions that call each other stand in one: they are static.
const (
	maxParts = 4
	partSize = 8 << 10 // bytes of text that are worth a compiler of their own
)

// printed is the text of one function.
type printed struct {
	f    *ir.Func
	text string
}

// parts deals the functions out, each group to the part with the least text.
func (g *gen) parts() []string {
	total := 0
	for _, p := range g.printed {
		total += len(p.text)
	}
	groups := g.groups()
	out := make([]string, max(1, min(maxParts, total/partSize, len(groups))))
	for _, text := range groups {
		least := 0
		for i := range out {
			if len(out[i]) < len(out[least]) {
				least = i
			}
		}
		out[least] += text
	}
	return out
}

// groups are the texts of functions that call each other.
func (g *gen) groups() []string {
	caller := map[*ir.Func]*ir.Func{} // or itself
	top := func(f *ir.Func) *ir.Func {
		for caller[f] != f {
			f = caller[f]
		}
		return f
	}
	for _, p := range g.printed { // callees stand before their callers
		caller[p.f] = p.f
		p.f.Body.Walk(func(op *ir.Op) {
			if op.Kind == ir.Call {
				caller[top(op.Callee())] = p.f
			}
		})
	}
	var out []string
	place := map[*ir.Func]int{}
	for _, p := range g.printed {
		t := top(p.f)
		if _, ok := place[t]; !ok {
			place[t] = len(out)
			out = append(out, "")
		}
		out[place[t]] += p.text
	}
	return out
}
