package verify

import (
	"fmt"
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

// randomSystem makes ranks that add to and wait for a few cells; owners may take credits back.
func randomSystem(rnd *rand.Rand) *system {
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
			rk.trace = append(rk.trace, a)
		}
		r.ranks = append(r.ranks, rk)
	}
	return &system{r}
}

// explore visits every state that some schedule reaches: how many actions each rank has done.
func (s *system) explore(visit func(at []int, stuck bool)) {
	seen := map[string]bool{}
	var walk func(at []int)
	walk = func(at []int) {
		key := fmt.Sprint(at)
		if seen[key] {
			return
		}
		seen[key] = true
		moved := false
		for i, rk := range s.r.ranks {
			if at[i] == len(rk.trace) || !s.enabled(rk.trace[at[i]], at) {
				continue
			}
			moved = true
			at[i]++
			walk(at)
			at[i]--
		}
		visit(at, !moved)
	}
	walk(make([]int, len(s.r.ranks)))
}

func (s *system) enabled(a *action, at []int) bool {
	if a.kind != actWait {
		return true
	}
	sum := int64(0)
	for i, rk := range s.r.ranks {
		for _, b := range rk.trace[:at[i]] {
			if b.kind == actNotify && b.cell == a.cell {
				sum += b.value
			}
		}
	}
	return sum >= a.value
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
	at := make([]int, len(s.r.ranks))
	for moved := true; moved; {
		moved = false
		for i, rk := range s.r.ranks {
			for at[i] < len(rk.trace) && s.enabled(rk.trace[at[i]], at) {
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

func TestWhatIsOrderedComesInThatOrderInEverySchedule(t *testing.T) {
	rnd := rand.New(rand.NewSource(5))
	systems, ordered, must := 0, 0, 0
	for systems < 3000 {
		s := randomSystem(rnd)
		finishes := s.greedy()
		never := map[[2]*action]bool{} // b may come before a
		hangs := false
		s.explore(func(at []int, end bool) {
			hangs = hangs || end && !s.done(at)
			for i, ri := range s.r.ranks {
				for j, rj := range s.r.ranks {
					if i == j {
						continue
					}
					for _, a := range ri.trace[at[i]:] {
						for _, b := range rj.trace[:at[j]] {
							never[[2]*action{a, b}] = true
						}
					}
				}
			}
		})
		if finishes == hangs {
			t.Fatalf("one schedule finishes: %v, some schedule hangs: %v\n%s", finishes, hangs, s)
		}
		if !finishes || hangs {
			continue
		}
		systems++
		o := s.r.order()
		for _, ri := range s.r.ranks {
			for _, rj := range s.r.ranks {
				if ri == rj {
					continue
				}
				for _, a := range ri.trace {
					for _, b := range rj.trace {
						before, always := o.before(a, b), !never[[2]*action{a, b}]
						if before && !always {
							t.Fatalf("%q of rank %d is said to come before %q of rank %d\n%s", a.text(), a.rank, b.text(), b.rank, s)
						}
						if before {
							ordered++
						}
						if always {
							must++
						}
					}
				}
			}
		}
	}
	t.Logf("%d systems: %d of the %d pairs that are ordered in every schedule were found", systems, ordered, must)
	if ordered*100 < must*95 {
		t.Error("the order misses too much")
	}
}
