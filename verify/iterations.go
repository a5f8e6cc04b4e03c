package verify

import "ptoc/lang/diag"

// The iterations of pl.parallel come in any order, one after the other if they must. So none may wait for another one of
// its loop; nor may iterations of two loops, on two ranks, each wait for one that comes after the other.

// IterationNeed says that an iteration of a pl.parallel loop waits for an iteration of such a loop on another rank.
type IterationNeed[L comparable] struct {
	Loop  L
	Iter  int64
	Of    L
	Needs int64
}

// WaitInCircle finds needs that keep each other from being met in some order of iterations: in each loop of the circle the one that
// waits has begun, and another one that is needed has not. No loop is in it twice: of one whose iterations need each other the need
// of that wait alone tells. nil if there are none.
func WaitInCircle[L comparable](needs []IterationNeed[L]) []IterationNeed[L] {
	from := map[L][]int{}
	for i, n := range needs {
		from[n.Loop] = append(from[n.Loop], i)
	}
	for first := range needs {
		if path := shortestCircle(needs, from, first); path != nil {
			return path
		}
	}
	return nil
}

// shortestCircle is the shortest way from a need back to it.
func shortestCircle[L comparable](needs []IterationNeed[L], from map[L][]int, first int) []IterationNeed[L] {
	before := map[int]int{first: -1}
	for queue := []int{first}; len(queue) > 0; queue = queue[1:] {
		n := needs[queue[0]]
		for _, next := range from[n.Of] {
			if needs[next].Iter == n.Needs { // that one has begun
				continue
			}
			if next == first {
				return distinctLoops(needs, before, queue[0])
			}
			if _, known := before[next]; !known {
				before[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// distinctLoops is the path that leads to the last need; nil if it comes through a loop twice.
func distinctLoops[L comparable](needs []IterationNeed[L], before map[int]int, last int) []IterationNeed[L] {
	var path []IterationNeed[L]
	seen := map[L]bool{}
	for i := last; i >= 0; i = before[i] {
		if seen[needs[i].Loop] {
			return nil
		}
		seen[needs[i].Loop] = true
		path = append(path, needs[i])
	}
	return path
}

// iterations reports waits of pl.parallel iterations that some order of iterations keeps from returning.
func (d *discipline) iterations() {
	loops := d.parallelLoops()
	var needs []IterationNeed[*forked]
	at := map[IterationNeed[*forked]]*action{}
	for _, w := range d.o.all {
		for b := w.blk; b != nil && w.kind == actWait; b = b.up {
			if kindOf(b.loop) != "parallel" {
				continue
			}
			d.needsSibling(w, b)
			for _, of := range loops {
				for j, k := range of.kids {
					n := IterationNeed[*forked]{b.of, b.idx, of, int64(j)}
					if of.fork.rank != w.rank && k.id >= 0 && int(w.clock[k.id]) > k.first && at[n] == nil {
						at[n] = w
						needs = append(needs, n)
					}
				}
			}
		}
	}
	if c := WaitInCircle(needs); c != nil && len(d.findings) == 0 {
		n := c[len(c)-1]
		f := d.find(diag.NotResident, at[n], "iteration %d of rank %d waits for iteration %d of rank %d, which may come after one that waits for rank %d: iterations of pl.parallel come in any order",
			n.Iter, at[n].rank, n.Needs, n.Of.fork.rank, at[n].rank)
		for _, m := range c[:len(c)-1] {
			f.Note(at[m].span(), "iteration %d of rank %d waits here for iteration %d of rank %d", m.Iter, at[m].rank, m.Needs, m.Of.fork.rank)
		}
		f.Help("notify in one loop and wait in a second one; or write pl.range, whose iterations run one after the other")
	}
}

// parallelLoops are the runs of pl.parallel loops in which something happened.
func (d *discipline) parallelLoops() []*forked {
	var out []*forked
	seen := map[*forked]bool{}
	for _, rk := range d.r.ranks {
		for _, a := range rk.trace {
			for b := a.blk; b != nil; b = b.up {
				if kindOf(b.loop) == "parallel" && !seen[b.of] {
					seen[b.of] = true
					out = append(out, b.of)
				}
			}
		}
	}
	return out
}

// needsSibling reports a wait of an iteration, b, for what another one of its loop does.
func (d *discipline) needsSibling(w *action, b *block) {
	for i, k := range b.of.kids {
		if int64(i) != b.idx && k.id >= 0 && int(w.clock[k.id]) > k.first {
			d.find(diag.NotResident, w, "iteration %d of rank %d waits for %s %s, which iteration %d notifies: iterations of pl.parallel come in any order", b.idx, w.rank, w.cell.name(), w.condition(), i).
				Help("write pl.spmd, whose blocks may wait for earlier ones, or pl.range")
			return
		}
	}
}
