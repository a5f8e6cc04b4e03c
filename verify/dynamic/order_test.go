package dynamic

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/lang/source"
	"ptoc/runtime/sim"
)

// A tiny program: what each rank does, in order.
type tinyStep struct {
	kind  kind // notify, wait, read, write
	cell  int
	value int32
	set   bool
	mem   int // of which rank
	op    *ir.Op
}

func (s tinyStep) String() string {
	switch s.kind {
	case notify:
		if s.set {
			return fmt.Sprintf("c%d=%d", s.cell, s.value)
		}
		return fmt.Sprintf("c%d+=%d", s.cell, s.value)
	case wait:
		return fmt.Sprintf("wait c%d>=%d", s.cell, s.value)
	case read:
		return fmt.Sprintf("read m%d", s.mem)
	}
	return fmt.Sprintf("write m%d", s.mem)
}

type tiny [][]tinyStep

func (p tiny) String() string {
	var b strings.Builder
	for r, steps := range p {
		fmt.Fprintf(&b, "rank %d: %v\n", r, steps)
	}
	return b.String()
}

// randomTiny makes a program in which cells are only added to, and owners write their own memory.
// Cell c belongs to rank c modulo the number of ranks.
func randomTiny(rng *rand.Rand) tiny {
	n := 2 + rng.IntN(3)
	p := make(tiny, n)
	for r := range p {
		waited := map[int]int32{}
		for range 2 + rng.IntN(5) {
			s := tinyStep{op: ir.NewOp(ir.Load, source.Span{})}
			switch rng.IntN(6) {
			case 0, 1:
				s.kind, s.cell, s.value = notify, rng.IntN(2*n), 1
				if s.cell%n == r {
					if waited[s.cell] == 0 {
						continue
					}
					s.value = -1 // only the owner takes back
				}
			case 2, 3:
				s.kind, s.cell = wait, r+n*rng.IntN(2)
				s.value = 1 + int32(rng.IntN(2))
				waited[s.cell]++
			case 4:
				s.kind, s.mem = read, rng.IntN(n)
			default:
				s.kind, s.mem = write, r
			}
			p[r] = append(p[r], s)
		}
	}
	return p
}

// conflict searches all interleavings for a state in which two ranks are about to access the same memory, one
// of them writing; and reports whether some interleaving does not end.
func (p tiny) conflict() (race, hang bool) {
	race, hang, _ = p.search()
	return race, hang
}

// search is conflict; and reports whether a set of a cell may come at once with another write of it.
func (p tiny) search() (race, hang, sets bool) {
	seen := map[string]bool{}
	var visit func(at []int, cells map[int]int32)
	visit = func(at []int, cells map[int]int32) {
		key := fmt.Sprint(at, cells)
		if seen[key] {
			return
		}
		seen[key] = true
		moved, done := false, true
		for r := range p {
			if at[r] == len(p[r]) {
				continue
			}
			done = false
			s := p[r][at[r]]
			if s.kind == wait && cells[s.cell] < s.value {
				continue
			}
			moved = true
			for q := range r {
				if at[q] < len(p[q]) {
					o := p[q][at[q]]
					sets = sets || s.kind == notify && o.kind == notify && s.cell == o.cell && (s.set || o.set)
					race = race || s.mem == o.mem && (s.kind == write && (o.kind == read || o.kind == write) || s.kind == read && o.kind == write)
				}
			}
			next := append([]int(nil), at...)
			next[r]++
			visit(next, s.done(cells))
		}
		hang = hang || !moved && !done
	}
	visit(make([]int, len(p)), map[int]int32{})
	return race, hang, sets
}

// done is what cells hold after a step.
func (s tinyStep) done(cells map[int]int32) map[int]int32 {
	if s.kind != notify {
		return cells
	}
	out := maps.Clone(cells)
	if s.set {
		out[s.cell] = 0
	}
	out[s.cell] += s.value
	return out
}

// record runs one random schedule and gives it to a trace.
func (p tiny) record(rng *rand.Rand) *trace {
	n := len(p)
	t := newTrace(n)
	mem, sig := make([]*sim.Alloc, n), make([]*sim.Alloc, n)
	for r := range n {
		mem[r] = &sim.Alloc{ID: 0, Device: r, Window: true, Data: make([]byte, 4)}
		sig[r] = &sim.Alloc{ID: 1, Device: r, Window: true, Data: make([]byte, 12)}
	}
	cell := func(c int) sim.Cell { return sim.Cell{Mem: sig[c%n], Off: int64(c / n * 4)} }
	at := make([]int, n)
	cells := map[int]int32{}
	for {
		var can []int
		for r := range p {
			if at[r] < len(p[r]) && (p[r][at[r]].kind != wait || cells[p[r][at[r]].cell] >= p[r][at[r]].value) {
				can = append(can, r)
			}
		}
		if len(can) == 0 {
			return t
		}
		r := can[rng.IntN(len(can))]
		switch s := p[r][at[r]]; s.kind {
		case notify:
			t.notified(r, cell(s.cell), s.op, s.value, s.set)
		case wait:
			t.waited(sim.Blocked{Device: r, Op: s.op, Cell: cell(s.cell), Want: s.value})
		default:
			t.access(s.kind, &sim.Access{Device: r, Mem: mem[s.mem], Ranges: []sim.Range{{Off: 0, Len: 4}}, Op: s.op})
		}
		cells = p[r][at[r]].done(cells)
		at[r]++
	}
}

// withSets makes some notifies sets. With 2 or 3 ranks owners set their cells at first, and all meet.
func (p tiny) withSets(rng *rand.Rand) tiny {
	n := len(p)
	for r, steps := range p {
		for i := range steps {
			if s := &steps[i]; s.kind == notify && rng.IntN(4) == 0 {
				s.set, s.value = true, int32(rng.IntN(3))
			}
		}
		if n > 3 {
			continue
		}
		var first []tinyStep
		for c := r; c < 2*n; c += n {
			first = append(first, tinyStep{kind: notify, cell: c, value: int32(rng.IntN(3)) - 1, set: true})
		}
		for q := range n {
			if q != r {
				first = append(first, tinyStep{kind: notify, cell: 2*n + q, value: 1})
			}
		}
		first = append(first, tinyStep{kind: wait, cell: 2*n + r, value: int32(n - 1)})
		for i := range first {
			first[i].op = ir.NewOp(ir.Load, source.Span{})
		}
		p[r] = append(first, steps...)
	}
	return p
}

// The same for cells that are set, where sets are ordered with the other writes of their cell.
func TestTheOrderOfOneScheduleFindsTheRacesOfAllWithSets(t *testing.T) {
	races, all := 0, 0
	for seed := uint64(0); seed < 16_000; seed++ {
		rng := rand.New(rand.NewPCG(seed, 4))
		p := randomTiny(rng).withSets(rng)
		race, hang, sets := p.search()
		if hang || sets {
			continue
		}
		all++
		tr := p.record(rng)
		tr.settle()
		if got := len(tr.races()) > 0; got != race {
			t.Fatalf("seed %d: race %v, by all interleavings %v\n%s", seed, got, race, p)
		}
		if race {
			races++
		}
	}
	t.Logf("%d programs, %d race", all, races)
}

func TestTheOrderOfOneScheduleFindsTheRacesOfAll(t *testing.T) {
	races, all := 0, 0
	for seed := uint64(0); seed < 60_000; seed++ {
		rng := rand.New(rand.NewPCG(seed, 3))
		p := randomTiny(rng)
		race, hang := p.conflict()
		if hang {
			continue
		}
		all++
		tr := p.record(rng)
		tr.settle()
		if got := len(tr.races()) > 0; got != race {
			t.Fatalf("seed %d: race %v, by all interleavings %v\n%s", seed, got, race, p)
		}
		if race {
			races++
		}
	}
	t.Logf("%d programs, %d race", all, races)
}
