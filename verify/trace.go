package verify

import (
	"fmt"
	"strings"

	"ptoc/ir"
	"ptoc/lang/source"
)

// The trace of a rank: what it does to signals and to memory that others may touch, in program order.

type actionKind uint8

const (
	actNotify actionKind = iota
	actWait
	actAccess
	actCollective // an op that has not been lowered: a rendezvous of its domain
	actStart      // a dispatch begins
	actEnd
	actFork // the blocks of a loop begin
	actJoin
	actFence
)

// action is one step of a trace.
type action struct {
	kind actionKind
	rank int
	op   *ir.Op
	path *place // calls around op
	call int    // number of the dispatch on this rank
	blk  *block // that did it; nil: none

	cell  cell  // notify, wait
	value int64 // notify: value; wait: expected
	set   bool  // notify: op=Set
	eq    bool  // wait: cmp=Eq
	seq   int   // position in the order in which the executor ran the actions

	acc    access // access
	domain *domain
	meet   *rendezvous
	ghost  bool // would have happened, had a wait before it returned

	era int // notifies of this rank before it
	pos int // in the rank's trace

	strand int
	tick   int       // in its strand
	prev   *action   // in its strand; of a block's first: the fork
	ends   []*action // join: the last of each block
	acq    *action   // the last acquire of the strand at or before it
	clock  clock     // acquires: what must have happened when it returns
}

// place is a chain of calls, innermost first.
type place struct {
	op *ir.Op
	up *place
}

// cell is a signal cell on one device.
type cell struct {
	mem    *memory
	device int
	off    int64 // bytes
}

// span is the bytes [lo, hi).
type span struct{ lo, hi int64 }

// access is a read or write of some bytes of one device's memory.
type access struct {
	mem    *memory
	device int
	spans  []span
	write  bool
	atomic bool
	stream bool
	dt     ir.DType
	view   *ir.Op // the pld.window that the bytes are seen through; nil: none
}

// conflicts reports whether the order of two accesses to the same bytes matters. Atomic adds of one element type commute.
func (a access) conflicts(b access) bool {
	return (a.write || b.write) && !(a.atomic && b.atomic && a.dt == b.dt)
}

// remote reports whether the access is to another rank's copy.
func (a *action) remote() bool {
	return a.acc.mem.kind == windowMemory && a.acc.device != a.rank
}

func (a access) overlaps(b access) (span, bool) {
	if a.mem != b.mem || a.device != b.device {
		return span{}, false
	}
	for i, j := 0, 0; i < len(a.spans) && j < len(b.spans); {
		x, y := a.spans[i], b.spans[j]
		if lo, hi := max(x.lo, y.lo), min(x.hi, y.hi); lo < hi {
			return span{lo, hi}, true
		}
		if x.hi < y.hi {
			i++
		} else {
			j++
		}
	}
	return span{}, false
}

// name is "signal[1, 0]": the cell as the program indexes it.
func (c cell) name() string { return c.mem.elementName(c.off) }

// elementName writes the element at a byte offset with the indices of the memory's first view.
func (m *memory) elementName(off int64) string {
	idx := make([]string, len(m.shape))
	at := off / max(m.size, 1)
	for i := len(m.shape) - 1; i >= 0; i-- {
		n := max(m.shape[i], 1)
		if i == 0 {
			n = at + 1
		}
		idx[i] = fmt.Sprint(at % n)
		at /= n
	}
	return m.name + "[" + strings.Join(idx, ", ") + "]"
}

// spanName is "data[0:64]" or, for windows of several dimensions, its first element.
func (m *memory) spanName(s span) string {
	size := max(m.size, 1)
	if s.hi-s.lo <= size {
		return m.elementName(s.lo)
	}
	lead := int64(1)
	for _, n := range m.shape[:max(len(m.shape)-1, 0)] {
		lead *= n
	}
	if n := len(m.shape); n > 0 && lead == 1 {
		return fmt.Sprintf("%s[%s%d:%d]", m.name, strings.Repeat("0, ", n-1), s.lo/size, (s.hi+size-1)/size)
	}
	return fmt.Sprintf("%s from %s on (%d bytes)", m.name, m.elementName(s.lo), s.hi-s.lo)
}

// span is where an action stands in the user's program: the innermost place that is not library code.
func (a *action) span() source.Span { return a.op.Span }

// when says in which call of a loop or dispatch the action happened, where that is more than one.
func (a *action) when(r *run) string {
	n := 0
	for _, d := range r.ranks[a.rank].dispatches {
		if d.at == r.ranks[a.rank].dispatches[a.call].at {
			n++
		}
	}
	if n < 2 {
		return ""
	}
	k := 0
	for _, d := range r.ranks[a.rank].dispatches[:a.call+1] {
		if d.at == r.ranks[a.rank].dispatches[a.call].at {
			k++
		}
	}
	return fmt.Sprintf(", in call %d", k)
}

// text describes the action for a timeline.
func (a *action) text() string {
	switch a.kind {
	case actNotify:
		how := "+="
		v := a.value
		if a.set {
			how = "="
		} else if v < 0 {
			how, v = "-=", -v
		}
		where := fmt.Sprintf(" on rank %d", a.cell.device)
		if a.cell.device == a.rank {
			where = " here"
		}
		return fmt.Sprintf("%s %s %d%s", a.cell.name(), how, v, where)
	case actWait:
		how := ">="
		if a.eq {
			how = "=="
		}
		return fmt.Sprintf("waits for %s %s %d", a.cell.name(), how, a.value)
	case actAccess:
		what, of := "reads", ""
		if a.acc.write {
			what = "writes"
		}
		if a.remote() {
			of = fmt.Sprintf("rank %d's ", a.acc.device)
		}
		if len(a.acc.spans) == 0 {
			return what + " nothing of " + of + a.acc.mem.name
		}
		s := a.acc.spans[0]
		if len(a.acc.spans) > 1 {
			s.hi = a.acc.spans[len(a.acc.spans)-1].hi
		}
		return what + " " + of + a.acc.mem.spanName(s)
	case actCollective:
		return "calls " + a.op.Kind.Name
	case actStart:
		return "starts a kernel"
	case actFence:
		return "waits for its puts to land"
	case actFork:
		return "begins the blocks of a loop"
	case actJoin:
		return "has come to the end of all blocks"
	}
	return "ends a kernel"
}

var actionNames = [...]string{"notify", "wait", "access", "collective", "start", "end", "fork", "join", "fence"}

func (a *action) event(step int) Event {
	e := Event{Rank: a.rank, Step: step, Kind: actionNames[a.kind], Text: a.text() + a.blk.inBlock(), At: a.op.Span}
	if a.kind == actAccess {
		e.Kind = "read"
		if a.acc.write {
			e.Kind = "write"
		}
	}
	return e
}
