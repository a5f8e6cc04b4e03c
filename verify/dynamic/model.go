package dynamic

import (
	"fmt"

	"ptoc/lang/diag"
	"ptoc/verify"
	"ptoc/verify/model"
)

// Model extracts the signalling of a program in a scope. It stands for all schedules if exact is empty;
// else exact says why the steps of a rank depend on the schedule.
func Model(p *verify.Program, s verify.Scope, in Inputs) (m *model.Model, exact string, err error) {
	o := execute(p.Lowered, p.Entry, s, in, token{policy: Eager}.plan())
	if o.err != nil {
		return nil, "", fmt.Errorf("%s", o.text())
	}
	m = &model.Model{Title: fmt.Sprintf("%s: the signalling of %s on %s", p.File, p.Entry, s)}
	ids := map[cellKey]int{}
	for _, rk := range o.t.ranks {
		var steps []model.Step
		last := -1
		for _, e := range rk {
			if e.kind != notify && e.kind != wait || e.ghost && e.kind == wait && last == e.pos-1 && stuckAt(o.t, rk[last]) {
				continue // the wait in which the rank is stuck, again
			}
			last = e.pos
			if _, ok := ids[e.cell]; !ok {
				ids[e.cell] = len(m.Cells)
				m.Cells = append(m.Cells, fmt.Sprintf("%s of rank %d", elementName(e.cell.Mem, e.cell.Off), e.cell.Mem.Device))
			}
			steps = append(steps, model.Step{Wait: e.kind == wait, Cell: ids[e.cell], Value: e.value, Set: e.set, Eq: e.eq, Line: e.op.Span.Pos().Line})
		}
		m.Ranks = append(m.Ranks, steps)
	}
	for _, why := range o.t.wild() {
		exact = why
	}
	r := &report{o: o, module: p.Lowered, scope: s}
	r.all()
	for _, f := range r.findings {
		hang := f.Code == diag.LostWait || f.Code == diag.WaitCycle || f.Code == diag.NotResident && len(o.t.stuck) > 0
		if f.Severity == diag.Error && !hang { // nor is another order of iterations in the model
			exact = f.Error()
		}
	}
	return m, exact, nil
}

func stuckAt(t *trace, e *event) bool {
	for _, s := range t.stuck {
		if s == e {
			return true
		}
	}
	return false
}
