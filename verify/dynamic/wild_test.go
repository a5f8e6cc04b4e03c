package dynamic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ptoc/lang/diag"
)

// wildStep is a step on cells that the explorer has to order in every way: reads, waits for equality, sets.
type wildStep struct {
	what string // add, set, read, eq, ge
	rank int    // whose cell
	cell int
	val  int
}

type wildProgram [][]wildStep

const wildCells = 2 // of each rank

func (p wildProgram) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "NR = pl.dynamic(\"NR\")\n\n@pl.jit.incore\ndef step(y: pl.Out[pl.Tensor[[1, 8], pl.INT32]], flag: pl.InOut[pld.DistributedTensor[[1, %d], pl.INT32]]):\n    me = pld.rank(pld.get_comm_ctx(flag))\n", wildCells)
	for r, steps := range p {
		fmt.Fprintf(&b, "    if me == %d:\n", r)
		for i, s := range steps {
			switch s.what {
			case "add":
				fmt.Fprintf(&b, "        pld.notify(flag, %d, [0, %d], %d)\n", s.rank, s.cell, s.val)
			case "set":
				fmt.Fprintf(&b, "        pld.notify(flag, %d, [0, %d], %d, op=pld.NotifyOp.Set)\n", s.rank, s.cell, s.val)
			case "read":
				fmt.Fprintf(&b, "        pl.write(y, [0, %d], flag[0, %d])\n", i, s.cell)
			case "eq":
				fmt.Fprintf(&b, "        pld.wait(flag, [0, %d], %d, cmp=pld.WaitCmp.Eq)\n", s.cell, s.val)
			case "ge":
				fmt.Fprintf(&b, "        pld.wait(flag, [0, %d], %d)\n", s.cell, s.val)
			}
		}
		b.WriteString("        pl.write(y, [0, 7], pl.const(1, pl.INT32))\n")
	}
	fmt.Fprintf(&b, "\n@pl.jit.host\ndef main(y: pl.Out[pl.Tensor[[NR, 1, 8], pl.INT32]]):\n    flag = pld.alloc_window_buffer([1, %d], dtype=pl.INT32)\n    for r in pl.range(%d):\n        step(y[r], pld.window(flag, [1, %d], dtype=pl.INT32), device=r)\n", wildCells, len(p), wildCells)
	return b.String()
}

func randomWild(rng *rand.Rand, whats ...string) wildProgram {
	n := 2 + rng.IntN(2)
	p := make(wildProgram, n)
	for r := range p {
		for range 1 + rng.IntN(3) {
			s := wildStep{what: whats[rng.IntN(len(whats))], rank: r, cell: rng.IntN(wildCells), val: 1}
			if s.what == "add" {
				if s.rank = rng.IntN(n); s.rank == r {
					s.rank = (r + 1) % n
				}
			}
			if s.what == "eq" {
				s.val += rng.IntN(2)
			}
			p[r] = append(p[r], s)
		}
	}
	return p
}

// bruteState is how far ranks have come, the notifies under way, the cells, and what was read.
type bruteState struct {
	at    []int
	mail  []wildStep
	cells string
	out   string
}

// outcomes are the outputs of all executions in which notifies arrive late and in any order, and
// "hang" if one does not end. With late false notifies arrive at once.
func (p wildProgram) outcomes(late bool) []string {
	found, seen := map[string]bool{}, map[string]bool{}
	var visit func(at []int, mail []wildStep, cells []int, out []string)
	visit = func(at []int, mail []wildStep, cells []int, out []string) {
		slices.SortFunc(mail, func(a, b wildStep) int { return (a.rank*9+a.cell)*9 + a.val - (b.rank*9+b.cell)*9 - b.val })
		key := fmt.Sprint(at, mail, cells, out)
		if seen[key] {
			return
		}
		seen[key] = true
		moved, done := false, true
		for i, m := range mail {
			moved = true
			c := slices.Clone(cells)
			c[m.rank*wildCells+m.cell] += m.val
			visit(at, slices.Delete(slices.Clone(mail), i, i+1), c, out)
		}
		for r := range p {
			if at[r] == len(p[r]) {
				continue
			}
			done = false
			s := p[r][at[r]]
			v := cells[s.rank*wildCells+s.cell]
			if s.what == "eq" && v != s.val || s.what == "ge" && v < s.val {
				continue
			}
			moved = true
			next := slices.Clone(at)
			next[r]++
			m, c, o := slices.Clone(mail), slices.Clone(cells), slices.Clone(out)
			switch {
			case s.what == "add" && late:
				m = append(m, s)
			case s.what == "add":
				c[s.rank*wildCells+s.cell] += s.val
			case s.what == "read":
				o = append(o, fmt.Sprintf("%d.%d=%d", r, at[r], v))
				slices.Sort(o)
			}
			visit(next, m, c, o)
		}
		if !moved && !done {
			found["hang"] = true
		}
		if !moved && done {
			found[strings.Join(out, " ")] = true
		}
	}
	visit(make([]int, len(p)), nil, make([]int, len(p)*wildCells), nil)
	var out []string
	for o := range found {
		out = append(out, o)
	}
	slices.Sort(out)
	return out
}

// explored are the outcomes that the explorer finds.
func (p wildProgram) explored(t *testing.T) []string {
	found := map[string]bool{}
	u := fromText(t, p.text())
	pr, err := u.Program(len(p))
	if err != nil {
		t.Fatal(err)
	}
	x := explore(pr, pr.Scope(len(p), 1, u.Syms), nil, func(o *outcome) {
		if len(o.t.stuck) > 0 {
			found["hang"] = true
			return
		}
		var out []string
		ys := o.calls[0]["y"].Ints()
		for r, steps := range p {
			for i, s := range steps {
				if s.what == "read" {
					out = append(out, fmt.Sprintf("%d.%d=%d", r, i, ys[8*r+i]))
				}
			}
		}
		slices.Sort(out)
		found[strings.Join(out, " ")] = true
	})
	if !x.complete && x.err != "" {
		t.Fatal(x.err)
	}
	var out []string
	for o := range found {
		out = append(out, o)
	}
	slices.Sort(out)
	return out
}

func TestTheExplorerFindsAllOutcomesOfReadsOfCells(t *testing.T) {
	for seed := range uint64(150) {
		p := randomWild(rand.New(rand.NewPCG(seed, 5)), "add", "read")
		if got, want := p.explored(t), p.outcomes(true); !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %q\nwant %q\n%s", seed, got, want, p.text())
		}
	}
}

func TestTheExplorerFindsEveryHangOfWaitsForEquality(t *testing.T) {
	hangs := 0
	for seed := range uint64(300) {
		p := randomWild(rand.New(rand.NewPCG(seed, 6)), "add", "add", "eq", "ge")
		got, late, now := slices.Contains(p.explored(t), "hang"), slices.Contains(p.outcomes(true), "hang"), slices.Contains(p.outcomes(false), "hang")
		if now && !got || got && !late {
			t.Fatalf("seed %d: hang %v, with late notifies %v, without %v\n%s", seed, got, late, now, p.text())
		}
		if got {
			hangs++
		}
	}
	t.Logf("%d of 300 hang", hangs)
}

// A cell has 32 bits: a wait for 1 << 30 hangs where two such credits have come before it looks.
func TestACellThatOverflowsIsExplored(t *testing.T) {
	add := wildStep{what: "add", rank: 0, val: 1 << 30}
	p := wildProgram{{{what: "ge", rank: 0, val: 1 << 30}}, {add, add}}
	for _, policy := range [][]string{{"memory"}, {"schedules"}} {
		if r := check(t, fromText(t, p.text()), 2, 1, policy); !hasCode(r, diag.LostWait) {
			t.Errorf("%s: %s", policy[0], r.Status())
		}
	}
}
