package verify

import (
	"slices"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// A put is on its way until the next notify or fence that comes after it: what its own rank does before that to the same
// bytes of the peer may come first.

// flight is a put on its way.
type flight struct {
	put      *action
	landings []*action // notifies and fences after it: who comes after one of these finds it landed
}

// flights reports the accesses of a rank that meet a put of its own.
func (o *order) flights() {
	for _, rk := range o.r.ranks {
		var open []*flight
		for _, a := range rk.trace {
			switch {
			case a.ghost:
			case a.kind == actEnd:
				open = nil // what is not released by now has been reported
			case a.kind == actNotify, a.kind == actFence, a.kind == actCollective:
				open = o.land(open, a)
			case a.kind == actAccess:
				o.meets(open, a)
				if a.op.Kind == ir.Put && a.acc.write && a.remote() {
					open = append(open, &flight{put: a})
				}
			}
		}
	}
}

// land notes that a has seen to it that the puts before it have landed. Of those of its own strand this says all: what
// knows of such a put from now on knows of a too.
func (o *order) land(open []*flight, a *action) []*flight {
	return slices.DeleteFunc(open, func(f *flight) bool {
		if o.before(f.put, a) {
			f.landings = append(f.landings, a)
		}
		return f.put.strand == a.strand
	})
}

func (o *order) meets(open []*flight, a *action) {
	for _, f := range open {
		at, hit := f.put.acc.overlaps(a.acc)
		if !hit || !f.put.acc.conflicts(a.acc) || !o.before(f.put, a) ||
			slices.ContainsFunc(f.landings, func(l *action) bool { return o.before(l, a) }) {
			continue
		}
		verb := "reads"
		if a.acc.write {
			verb = "writes"
		}
		d := o.find(diag.DataRace, a, "rank %d %s rank %d's %s while a put of its own may still be writing it", a.rank, verb, a.acc.device, a.acc.mem.spanName(at))
		d.Note(f.put.span(), "rank %d writes it here%s", a.rank, f.put.when(o.r))
		d.Note(source.Span{}, "a put reaches the peer only with a later notify; until then nothing orders it with other accesses to the peer")
		d.Help("notify first, or pl.fence() between the two")
		d.Timeline = o.timeline(f.put, a)
	}
}
