package passes

import (
	"ptoc/ir"
	"ptoc/lang/diag"
)

// watch starts the watcher on m, which no pass has touched yet.
func (r *runner) watch(m *ir.Module) func(string, *ir.Module) *diag.Diagnostic {
	if r.o.Watch != nil {
		if w := r.o.Watch(m); w != nil {
			return w
		}
	}
	return func(string, *ir.Module) *diag.Diagnostic { return nil }
}

// watches reports whether the watcher sees the module after row i. It costs more than a pass, so it looks
// at as few places as there can be: what lies between two of them can be compared.
func (r *runner) watches(i int) bool {
	if r.o.Watch == nil || r.o.VerifyEach || i == len(r.rows)-1 {
		return r.o.Watch != nil
	}
	return r.rows[i].Lowers || r.rows[i+1].Lowers
}

// blame finds the row that did what the watcher found after row i: it runs the rows up to there once more.
func (r *runner) blame(i int, found *diag.Diagnostic) (int, error) {
	if found == nil {
		return i, nil
	}
	if r.o.VerifyEach {
		return i, found
	}
	m := ir.CloneModule(r.start)
	quiet := &Context{Diags: &diag.List{}, Target: r.c.Target, Ranks: r.c.Ranks, ctx: r.c.ctx}
	w := r.watch(m)
	for j, p := range r.rows[:i+1] {
		if err := runGuarded(p, m, quiet); err != nil {
			return j, err
		}
		if d := w(p.Name, m); d != nil {
			return j, d
		}
	}
	return i, found
}
