package verify

import (
	"fmt"
	"maps"
	"math/rand"
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/lang/source"
)

// system is a random set of traces of notifies and waits, for comparison with brute force.
type system struct {
	r *run
}

// randomSystem makes ranks that add to and wait for a few cells; owners may take credits back. With
// sets, some notifies set, and some waits wait for equality.
func randomSystem(rnd *rand.Rand, sets bool) *system {
	n := 2 + rnd.Intn(2)
	r := &run{}
	mem := &memory{kind: windowMemory, name: "s", shape: []int64{1, 3}, size: 4}
	for i := range n {
		rk := &rankState{id: i}
		for range 1 + rnd.Intn(4) {
			a := &action{rank: i, op: ir.NewOp(ir.Notify, source.Span{})}
			own := rnd.Intn(2) == 0
			switch {
			case own:
				a.kind, a.cell, a.value = actWait, cell{mem, i, 4 * int64(rnd.Intn(2))}, int64(1+rnd.Intn(2))
			default:
				a.kind, a.cell, a.value = actNotify, cell{mem, (i + 1 + rnd.Intn(n-1)) % n, 4 * int64(rnd.Intn(2))}, 1
				if rnd.Intn(8) == 0 {
					a.cell.device, a.value = i, -1
				}
			}
			if sets && rnd.Intn(3) == 0 {
				a.set, a.eq = a.kind == actNotify, a.kind == actWait
				if a.set {
					a.value = int64(rnd.Intn(3))
				}
			}
			rk.trace = append(rk.trace, a)
		}
		r.ranks = append(r.ranks, rk)
	}
	return &system{r}
}

// explore visits every state that some schedule reaches: how many actions each rank has done.
func (s *system) explore(visit func(at []int, stuck bool)) {
	seen := map[string]bool{}
	var walk func(at []int, cells map[cell]int64)
	walk = func(at []int, cells map[cell]int64) {
		key := s.key(at, cells)
		if seen[key] {
			return
		}
		seen[key] = true
		moved := false
		for i, rk := range s.r.ranks {
			if at[i] == len(rk.trace) || !enabled(rk.trace[at[i]], cells) {
				continue
			}
			moved = true
			next := maps.Clone(cells)
			do(rk.trace[at[i]], next)
			at[i]++
			walk(at, next)
			at[i]--
		}
		visit(at, !moved)
	}
	walk(make([]int, len(s.r.ranks)), map[cell]int64{})
}

// key is a state as text: positions and the cells in a fixed order.
func (s *system) key(at []int, cells map[cell]int64) string {
	key := fmt.Sprint(at)
	for _, rk := range s.r.ranks {
		for _, a := range rk.trace {
			key += fmt.Sprint(" ", cells[a.cell])
		}
	}
	return key
}

func enabled(a *action, cells map[cell]int64) bool {
	return a.kind != actWait || a.accepts(cells[a.cell])
}

func do(a *action, cells map[cell]int64) {
	switch {
	case a.kind == actNotify && a.set:
		cells[a.cell] = a.value
	case a.kind == actNotify:
		cells[a.cell] += a.value
	}
}

func (s *system) done(at []int) bool {
	for i, rk := range s.r.ranks {
		if at[i] < len(rk.trace) {
			return false
		}
	}
	return true
}

// greedy runs the ranks one after the other as far as they get, and numbers the actions.
func (s *system) greedy() bool {
	at, cells := make([]int, len(s.r.ranks)), map[cell]int64{}
	for moved := true; moved; {
		moved = false
		for i, rk := range s.r.ranks {
			for at[i] < len(rk.trace) && enabled(rk.trace[at[i]], cells) {
				do(rk.trace[at[i]], cells)
				rk.trace[at[i]].seq = s.r.seq
				s.r.seq++
				at[i]++
				moved = true
			}
		}
	}
	return s.done(at)
}

func (s *system) String() string {
	var b strings.Builder
	for _, rk := range s.r.ranks {
		fmt.Fprintf(&b, "rank %d:", rk.id)
		for _, a := range rk.trace {
			fmt.Fprintf(&b, " %s;", a.text())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// facts are what brute force knows of a system.
type facts struct {
	hangs bool                // in some schedule
	never map[[2]*action]bool // the second one may come before the first
}

func (s *system) facts() facts {
	f := facts{never: map[[2]*action]bool{}}
	s.explore(func(at []int, end bool) {
		f.hangs = f.hangs || end && !s.done(at)
		for i, ri := range s.r.ranks {
			for j, rj := range s.r.ranks {
				if i == j {
					continue
				}
				for _, a := range ri.trace[at[i]:] {
					for _, b := range rj.trace[:at[j]] {
						f.never[[2]*action{a, b}] = true
					}
				}
			}
		}
	})
	return f
}

// compare fails where the order claims what is not so; it counts what it finds of what there is.
func (s *system) compare(t *testing.T, f facts) (ordered, must int) {
	o := s.r.order()
	for _, ri := range s.r.ranks {
		for _, rj := range s.r.ranks {
			for _, a := range ri.trace {
				for _, b := range rj.trace {
					if a.rank == b.rank {
						continue
					}
					before, always := o.before(a, b), !f.never[[2]*action{a, b}]
					switch {
					case before && !always:
						t.Fatalf("%q of rank %d is said to come before %q of rank %d\n%s", a.text(), a.rank, b.text(), b.rank, s)
					case before:
						ordered++
					}
					if always {
						must++
					}
				}
			}
		}
	}
	return ordered, must
}

func TestWhatIsOrderedComesInThatOrderInEverySchedule(t *testing.T) {
	rnd := rand.New(rand.NewSource(5))
	ordered, must := 0, 0
	for systems := 0; systems < 3000; {
		s := randomSystem(rnd, false)
		finishes, f := s.greedy(), s.facts()
		if finishes == f.hangs {
			t.Fatalf("one schedule finishes: %v, some schedule hangs: %v\n%s", finishes, f.hangs, s)
		}
		if finishes {
			systems++
			a, b := s.compare(t, f)
			ordered, must = ordered+a, must+b
		}
	}
	t.Logf("%d of the %d pairs that are ordered in every schedule were found", ordered, must)
	if ordered*100 < must*95 {
		t.Error("the order misses too much")
	}
}

// TestDisciplinedSetsAndEqualityWaitsCannotHang: where the discipline finds nothing in a system that one
// schedule finishes, every schedule finishes, and the order holds in all of them.
func TestDisciplinedSetsAndEqualityWaitsCannotHang(t *testing.T) {
	rnd := rand.New(rand.NewSource(6))
	accepted, refused, ordered := 0, 0, 0
	for accepted < 1500 {
		s := randomSystem(rnd, true)
		if !s.greedy() {
			continue
		}
		d := &discipline{o: s.r.order(), r: s.r}
		for _, c := range d.cells() {
			d.setters(c)
			d.equality(c)
		}
		if len(d.findings) > 0 || d.unsure != "" {
			refused++
			continue
		}
		accepted++
		f := s.facts()
		if f.hangs {
			t.Fatalf("some schedule hangs\n%s", s)
		}
		n, _ := s.compare(t, f)
		ordered += n
	}
	t.Logf("%d accepted, %d refused, %d pairs ordered", accepted, refused, ordered)
}
