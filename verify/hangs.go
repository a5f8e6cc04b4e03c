package verify

import (
	"fmt"
	"slices"
	"strings"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// hangs reports the waits at which ranks are stuck: lost, or part of a circle.
func (d *discipline) hangs() {
	for _, w := range d.r.stuck {
		if w.kind == actCollective {
			d.collectiveHang(w)
			continue
		}
		d.hang(w)
	}
}

func (d *discipline) collectiveHang(w *action) {
	var missing []string
	for _, dev := range w.domain.devices {
		if w.meet.arrived[dev] == nil {
			missing = append(missing, itoa(dev))
		}
	}
	d.find(diag.CollectiveMismatch, w, "rank %d calls %s, which rank %s never calls", w.rank, w.op.Kind.Name, strings.Join(missing, ", "))
}

func (d *discipline) hang(w *action) {
	have := w.cell.mem.cells[w.cell.device][w.cell.off]
	how := ">="
	if w.eq {
		how = "=="
	}
	text := fmt.Sprintf("rank %d waits for ever for %s %s %d; it is %d", w.rank, w.cell.name(), how, w.value, have)
	chain := d.blockers(w)
	switch {
	case d.blockOfSpmd(w) != nil:
		n := d.blockOfSpmd(w)
		x, y := sideBySide(n.blk, w.blk)
		d.find(diag.NotResident, w, "%s: block %d of rank %d would notify it, which starts only when block %d has ended", text, x.idx, n.rank, y.idx).
			Note(n.span(), "it notifies here").
			Help("wait in a kernel of its own after the blocks, or let every block need only blocks before it")
	case len(chain) > 0:
		f := d.find(diag.WaitCycle, w, "%s", text)
		for _, b := range chain {
			f.Note(b.wait.span(), "rank %d would notify it, but waits here for %s", b.wait.rank, b.wait.cell.name())
		}
		f.Timeline = d.o.lastSteps()
	default:
		f := d.find(diag.LostWait, w, "%s, and no rank notifies it any more", text)
		if ns := d.o.writes[w.cell]; len(ns) > 0 {
			d.noteWriters(f, ns, w)
		} else {
			d.noteNear(f, w)
		}
		f.Timeline = d.o.lastSteps()
	}
}

type blocker struct {
	wait   *action // where the rank that could notify is stuck
	notify *action // what it would do next
}

// blockers are the stuck ranks that would notify w's cell if they went on.
func (d *discipline) blockers(w *action) []blocker {
	var out []blocker
	for _, s := range d.r.stuck {
		if s == w {
			continue
		}
		for _, a := range d.r.ranks[s.rank].trace[s.pos:] {
			if a.kind == actNotify && a.cell == w.cell && a.value > 0 {
				out = append(out, blocker{s, a})
				break
			}
		}
	}
	return out
}

// blockOfSpmd is a notify for w that a later block of a loop would do, if w stands in one and
// nothing but the order of blocks keeps it from coming.
func (d *discipline) blockOfSpmd(w *action) *action {
	if w.blk == nil {
		return nil
	}
	for _, rk := range d.r.ranks {
		for _, a := range rk.trace {
			if a.kind != actNotify || !a.ghost || a.cell != w.cell {
				continue
			}
			if x, y := sideBySide(a.blk, w.blk); x != nil && x.idx > y.idx {
				return a
			}
		}
	}
	return nil
}

// sideBySide are the blocks of one loop, on two ranks as well, in which two blocks are; nil if there are none.
func sideBySide(a, b *block) (x, y *block) {
	for x = a; x != nil; x = x.up {
		for y = b; y != nil; y = y.up {
			if x.loop == y.loop && x.idx != y.idx {
				return x, y
			}
		}
	}
	return nil, nil
}

// noteNear points at notifies of other cells of the same window: the index may be wrong.
func (d *discipline) noteNear(f *Finding, w *action) {
	for _, a := range d.o.all {
		if a.kind == actNotify && a.cell.mem == w.cell.mem && a.cell.device == w.cell.device {
			f.Note(a.span(), "rank %d notifies %s instead", a.rank, a.cell.name())
			return
		}
	}
	f.Note(source.Span{}, "no notify of rank %d's %s happens at all", w.cell.device, w.cell.mem.name)
}

// lastSteps are the last synchronisations of every rank before a hang.
func (o *order) lastSteps() []Event {
	var out []*action
	for _, rk := range o.r.ranks {
		var part []*action
		for _, a := range rk.trace {
			if !a.ghost && (a.kind == actNotify || a.kind == actWait || a.kind == actCollective) {
				part = append(part, a)
			}
		}
		out = append(out, part[max(0, len(part)-6):]...)
	}
	slices.SortStableFunc(out, func(a, b *action) int { return a.seq - b.seq })
	return o.events(out)
}
