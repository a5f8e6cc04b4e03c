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
	r       *run
	strands [][]*action        // a rank's own, and those of each block
	at      map[*action][2]int // its strand and position there
}

// randomSystem makes ranks that add to and wait for a few cells; owners may take credits back. With
// sets, some notifies set, and some waits wait for equality. With blocks, ranks have loops of them, which notify
// their own rank too. With takes, everybody takes credits from everybody, and waits for equality may wait for less.
func randomSystem(rnd *rand.Rand, sets, blocks, takes bool) *system {
	n := 2 + rnd.Intn(2)
	if blocks {
		n = 1 + rnd.Intn(2)
	}
	g := &traceMaker{rnd: rnd, n: n, sets: sets, takes: takes, mem: &memory{kind: windowMemory, name: "s", shape: []int64{1, 3}, size: 4}}
	g.r = newRun(nil, Scope{Ranks: n}, false)
	for _, rk := range g.r.ranks {
		if blocks {
			for range 1 + rnd.Intn(2) {
				g.actions(rk, rnd.Intn(2))
				g.loop(rk, 1)
				g.actions(rk, rnd.Intn(2))
			}
		} else {
			g.actions(rk, 1+rnd.Intn(4))
		}
	}
	s := &system{r: g.r, at: map[*action][2]int{}}
	for _, rk := range s.r.ranks {
		of := map[*block]int{}
		for _, a := range rk.trace {
			if _, known := of[a.blk]; !known {
				of[a.blk] = len(s.strands)
				s.strands = append(s.strands, nil)
			}
			k := of[a.blk]
			s.at[a] = [2]int{k, len(s.strands[k])}
			s.strands[k] = append(s.strands[k], a)
		}
	}
	return s
}

type traceMaker struct {
	r           *run
	rnd         *rand.Rand
	n           int
	sets, takes bool
	mem         *memory
}

func (g *traceMaker) actions(rk *rankState, count int) {
	rnd, i := g.rnd, rk.id
	for range count {
		a := &action{op: ir.NewOp(ir.Notify, source.Span{})}
		own := rnd.Intn(2) == 0
		switch {
		case own:
			a.kind, a.cell, a.value = actWait, cell{g.mem, i, 4 * int64(rnd.Intn(2))}, int64(1+rnd.Intn(2))
		default:
			peer := i
			if rk.strand.blk == nil && g.n > 1 {
				peer = (i + 1 + rnd.Intn(g.n-1)) % g.n
			} else if rk.strand.blk != nil {
				peer = rnd.Intn(g.n)
			}
			a.kind, a.cell, a.value = actNotify, cell{g.mem, peer, 4 * int64(rnd.Intn(2))}, 1
			if rnd.Intn(8) == 0 {
				a.cell.device, a.value = i, -1
			}
		}
		if g.takes && a.kind == actWait && rnd.Intn(2) == 0 {
			a.eq, a.value = true, int64(rnd.Intn(4)-2)
		}
		if g.takes && a.kind == actNotify && rnd.Intn(2) == 0 {
			a.cell.device, a.value = rnd.Intn(g.n), -1
		}
		if g.sets && rnd.Intn(3) == 0 {
			a.set, a.eq = a.kind == actNotify, a.kind == actWait
			if a.set {
				a.value = int64(rnd.Intn(3))
			}
		}
		g.r.record(rk, a)
	}
}

func (g *traceMaker) loop(rk *rankState, depth int) {
	f, op := &forked{}, ir.NewOp(ir.For, source.Span{})
	for i := range 2 + g.rnd.Intn(2) {
		f.enter(rk, op, int64(i))
		g.actions(rk, g.rnd.Intn(3))
		if depth > 0 && g.rnd.Intn(4) == 0 {
			g.loop(rk, depth-1)
			g.actions(rk, g.rnd.Intn(2))
		}
	}
	g.r.leave(f, rk, op)
}

// explore visits every state that some schedule reaches: how many actions each strand has done.
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
		for i, list := range s.strands {
			if at[i] == len(list) || !enabled(list[at[i]], cells) || !s.begun(list[at[i]], at) {
				continue
			}
			moved = true
			next := maps.Clone(cells)
			do(list[at[i]], next)
			at[i]++
			walk(at, next)
			at[i]--
		}
		visit(at, !moved)
	}
	walk(make([]int, len(s.strands)), map[cell]int64{})
}

// begun reports whether what a comes after in its own rank has happened: the fork of a block, all blocks of a join.
func (s *system) begun(a *action, at []int) bool {
	for _, b := range append([]*action{a.prev}, a.ends...) {
		if b != nil && at[s.at[b][0]] <= s.at[b][1] {
			return false
		}
	}
	return true
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
	for i, list := range s.strands {
		if at[i] < len(list) {
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
	for i, rk := range s.r.ranks {
		if at[i] < len(rk.trace) {
			return false
		}
	}
	return true
}

func (s *system) String() string {
	var b strings.Builder
	for _, rk := range s.r.ranks {
		fmt.Fprintf(&b, "rank %d:", rk.id)
		for _, a := range rk.trace {
			fmt.Fprintf(&b, " %s%s;", a.text(), a.blk.inBlock())
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
		for i, si := range s.strands {
			for j, sj := range s.strands {
				if i == j {
					continue
				}
				for _, a := range si[at[i]:] {
					for _, b := range sj[:at[j]] {
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
					if s.at[a][0] == s.at[b][0] {
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
		s := randomSystem(rnd, false, false, false)
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
		s := randomSystem(rnd, true, false, false)
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

// The same where credits are taken by everybody, and waits for equality may wait for them to be taken: that a flag is
// down, say.
func TestDisciplinedWaitsForCreditsToBeTakenCannotHang(t *testing.T) {
	rnd := rand.New(rand.NewSource(8))
	accepted, falling, ordered, must := 0, 0, 0, 0
	for accepted < 1500 {
		s := randomSystem(rnd, false, false, true)
		if !s.greedy() {
			continue
		}
		d := &discipline{o: s.r.order(), r: s.r}
		for _, c := range d.cells() {
			d.setters(c)
			d.equality(c)
		}
		if len(d.findings) > 0 || d.unsure != "" {
			continue
		}
		accepted++
		for _, w := range d.o.all {
			if w.kind == actWait && d.falls(w) && len(d.o.required(w)) > 0 {
				falling++
			}
		}
		f := s.facts()
		if f.hangs {
			t.Fatalf("some schedule hangs\n%s", s)
		}
		a, b := s.compare(t, f)
		ordered, must = ordered+a, must+b
	}
	t.Logf("%d accepted, %d waits for credits to be taken; %d of the %d pairs that are ordered in every schedule were found", accepted, falling, ordered, must)
	if falling < 100 {
		t.Error("hardly any wait is for credits to be taken")
	}
}

// TestBlocksInOrderStandForBlocksInAnyOrder: where ranks with blocks get through with the blocks one after the other,
// and the discipline finds nothing, they get through in every order of them, and what is ordered is in all of these.
func TestBlocksInOrderStandForBlocksInAnyOrder(t *testing.T) {
	rnd := rand.New(rand.NewSource(7))
	accepted, refused, ordered, must := 0, 0, 0, 0
	for accepted < 1000 {
		s := randomSystem(rnd, accepted%2 == 0, true, false)
		if !s.greedy() {
			continue
		}
		d := &discipline{o: s.r.order(), r: s.r}
		for _, c := range d.cells() {
			d.setters(c)
			d.equality(c)
		}
		f := s.facts()
		if len(d.findings) > 0 || d.unsure != "" {
			refused++
			if d.o.addsOnly() { // then the order needs no discipline
				s.compare(t, f)
			}
			continue
		}
		accepted++
		if f.hangs {
			t.Fatalf("some schedule hangs\n%s", s)
		}
		a, b := s.compare(t, f)
		ordered, must = ordered+a, must+b
	}
	t.Logf("%d accepted, %d refused; %d of the %d pairs that are ordered in every schedule were found", accepted, refused, ordered, must)
	if ordered*100 < must*90 {
		t.Error("the order misses too much")
	}
}

func (o *order) addsOnly() bool {
	for _, a := range o.all {
		if a.kind == actNotify && (a.set || a.value < 0) || a.eq {
			return false
		}
	}
	return true
}
