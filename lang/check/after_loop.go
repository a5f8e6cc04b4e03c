package check

import (
	"ptoc/ir"
	"ptoc/lang/syntax"
)

// finishLoop adds the yield and the op and binds names after the loop.
func (f *fn) finishLoop(l *loop, op *ir.Op, carries []*carry, results []*syntax.Name, end *env) {
	var inits, ends []*ir.Value
	var labels []string
	for i, c := range carries {
		if c.mem != nil {
			continue
		}
		inits, ends = append(inits, c.init.(*ir.Value)), append(ends, c.end)
		label := c.name
		if i < len(results) {
			label = results[i].Text
		}
		labels = append(labels, label)
	}
	f.yieldInto(op.Regions[0], ends, l.node.Span())
	if len(inits) > 0 {
		op.Set("init_values", inits...)
	}
	f.b.Span = l.node.Span()
	f.b.Insert(op)
	if err := f.b.Finish(op, labels...); err != nil {
		f.b.Block.Ops = f.b.Block.Ops[:len(f.b.Block.Ops)-1]
		f.typeError(err, argSpans{whole: l.node.Span()})
		return
	}
	f.bindAfter(l, op, carries, results, end)
}

// bindAfter gives names their meaning after the loop.
func (f *fn) bindAfter(l *loop, op *ir.Op, carries []*carry, results []*syntax.Name, end *env) {
	done := names{}
	n := 0
	for i, c := range carries {
		v := value(c.mem)
		if c.mem == nil {
			v = op.Results[n]
			n++
		}
		name := c.name
		if i < len(l.explicit) {
			if i < len(results) {
				name = results[i].Text
			} else {
				continue
			}
		}
		if b, ok := end.lookup(c.name); ok && isBad(b.val) {
			v = bad{}
		}
		f.env.set(name, v, c.at)
		if x, ok := v.(*ir.Value); ok {
			f.values[name] = x
		}
		done[name] = true
	}
	for _, name := range assignedNames(l.body...) {
		if done[name] || l.unused[name] {
			continue
		}
		f.afterLoop(name, end)
	}
}

// afterLoop: a name that the loop's body binds and that is not carried.
func (f *fn) afterLoop(name string, end *env) {
	now, ok := end.lookup(name)
	if !ok {
		return
	}
	old, had := f.env.lookup(name)
	switch {
	case had && sameValue(old.val, now.val):
	case isResult(name) && onlyMemory(now.val):
		f.env.set(name, now.val, now.at)
	case isBad(now.val):
		f.env.set(name, now.val, now.at)
	default:
		if m, isMissing := now.val.(missing); isMissing && had {
			f.env.set(name, m, now.at)
			return
		}
		f.env.set(name, missing{why: "defined only inside the loop, which may not run at all",
			notes: []missingNote{{now.at, "defined here"}}}, now.at)
	}
}
