package dynamic

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/runtime/sim"
	"ptoc/verify"
)

// bstep is a step of a tiny program with blocks: it comes after the first count steps of other strands.
type bstep struct {
	tinyStep
	after map[int]int
	enter *sim.Block // the block that begins with it
	leave *sim.Block // the block that has ended, the last of its loop
}

// blocky is a tiny program: the steps of each strand, and the order in which each rank does them.
type blocky struct {
	n       int
	strands [][]bstep
	ranks   [][][2]int // strand and step
	of      []int      // the rank of a strand
}

func (p *blocky) String() string {
	var b strings.Builder
	for r, steps := range p.ranks {
		fmt.Fprintf(&b, "rank %d:", r)
		for _, at := range steps {
			fmt.Fprintf(&b, " [%d] %v;", at[0], p.strands[at[0]][at[1]].tinyStep)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (p *blocky) add(strand int, s bstep) {
	s.op = ir.NewOp(ir.Load, source.Span{})
	r := p.of[strand]
	p.ranks[r] = append(p.ranks[r], [2]int{strand, len(p.strands[strand])})
	p.strands[strand] = append(p.strands[strand], s)
}

// randomBlocky makes ranks whose steps stand before, in and behind a loop of blocks. Blocks notify all ranks; only
// outside of blocks do owners take credits back.
func randomBlocky(rng *rand.Rand) *blocky {
	p := &blocky{n: 1 + rng.IntN(2)}
	p.ranks = make([][][2]int, p.n)
	for r := range p.n {
		p.strands, p.of = append(p.strands, nil), append(p.of, r)
	}
	for r := range p.n {
		for range 1 + rng.IntN(2) {
			for range rng.IntN(2) {
				p.add(r, p.random(rng, r, false))
			}
			p.loop(rng, r, r, nil)
		}
		for range rng.IntN(3) {
			p.add(r, p.random(rng, r, false))
		}
	}
	return p
}

func (p *blocky) random(rng *rand.Rand, r int, inBlock bool) bstep {
	var s bstep
	switch rng.IntN(6) {
	case 0, 1:
		s.kind, s.cell, s.value = notify, rng.IntN(2*p.n), 1
		if !inBlock && rng.IntN(4) == 0 {
			s.cell, s.value = r+p.n*rng.IntN(2), -1
		}
	case 2:
		s.kind, s.cell, s.value = wait, r+p.n*rng.IntN(2), 1+int32(rng.IntN(2))
	case 3:
		s.kind, s.mem = read, rng.IntN(p.n)
	default:
		s.kind, s.mem = write, r
	}
	return s
}

// loop adds blocks, and a step behind them that nobody sees but that comes after all.
func (p *blocky) loop(rng *rand.Rand, r, up int, in *sim.Block) {
	loop := &sim.Loop{In: in, N: int64(2 + rng.IntN(2)), Op: ir.NewOp(ir.For, source.Span{})}
	begun := len(p.strands[up])
	ends := map[int]int{}
	var last *sim.Block
	for i := range loop.N {
		last = &sim.Block{Loop: loop, Index: i}
		id := len(p.strands)
		p.strands, p.of = append(p.strands, nil), append(p.of, r)
		first := p.random(rng, r, true)
		first.enter, first.after = last, map[int]int{up: begun}
		p.add(id, first)
		for range rng.IntN(2) {
			p.add(id, p.random(rng, r, true))
		}
		if in == nil && rng.IntN(5) == 0 {
			p.loop(rng, r, id, last)
		}
		ends[id] = len(p.strands[id])
	}
	s := p.random(rng, r, in != nil)
	s.after, s.leave = ends, last
	p.add(up, s)
}

// search follows all interleavings of all strands; not known: there are too many.
func (p *blocky) search() (race, hang, known bool) {
	seen := map[string]bool{}
	var visit func(at []int, cells map[int]int32)
	visit = func(at []int, cells map[int]int32) {
		key := fmt.Sprint(at, cells)
		if seen[key] || len(seen) > 3000 {
			return
		}
		seen[key] = true
		moved, done := false, true
		var ready []tinyStep
		for i := range p.strands {
			if at[i] == len(p.strands[i]) {
				continue
			}
			done = false
			s := p.strands[i][at[i]]
			if s.kind == wait && cells[s.cell] < s.value || !s.ready(at) {
				continue
			}
			for _, o := range ready {
				race = race || s.kind >= read && o.kind >= read && s.mem == o.mem && (s.kind == write || o.kind == write)
			}
			ready = append(ready, s.tinyStep)
			moved = true
			next := slices.Clone(at)
			next[i]++
			visit(next, s.done(cells))
		}
		hang = hang || !moved && !done
	}
	visit(make([]int, len(p.strands)), map[int]int32{})
	return race, hang, len(seen) <= 3000
}

func (s bstep) ready(at []int) bool {
	for strand, count := range s.after {
		if at[strand] < count {
			return false
		}
	}
	return true
}

// record runs one schedule of the ranks, with blocks in order, and gives it to a trace; nil if it hangs.
func (p *blocky) record(rng *rand.Rand) *trace {
	t := newTrace(p.n)
	mem, sig := make([]*sim.Alloc, p.n), make([]*sim.Alloc, p.n)
	for r := range p.n {
		mem[r] = &sim.Alloc{ID: 0, Device: r, Window: true, Data: make([]byte, 4)}
		sig[r] = &sim.Alloc{ID: 1, Device: r, Window: true, Data: make([]byte, 12)}
	}
	cell := func(c int) sim.Cell { return sim.Cell{Mem: sig[c%p.n], Off: int64(c / p.n * 4)} }
	at := make([]int, p.n)
	cells := map[int]int32{}
	for {
		var can []int
		left := false
		for r, steps := range p.ranks {
			if at[r] == len(steps) {
				continue
			}
			left = true
			if s := p.strands[steps[at[r]][0]][steps[at[r]][1]]; s.kind != wait || cells[s.cell] >= s.value {
				can = append(can, r)
			}
		}
		if len(can) == 0 && left {
			return nil
		}
		if !left {
			return t
		}
		r := can[rng.IntN(len(can))]
		s := p.strands[p.ranks[r][at[r]][0]][p.ranks[r][at[r]][1]]
		if s.leave != nil {
			t.block(r, s.leave, true)
		}
		if s.enter != nil {
			t.block(r, s.enter, false)
		}
		switch s.kind {
		case notify:
			t.notified(r, cell(s.cell), s.op, s.value, s.set)
		case wait:
			t.waited(sim.Blocked{Device: r, Op: s.op, Cell: cell(s.cell), Want: s.value})
		default:
			t.access(s.kind, &sim.Access{Device: r, Mem: mem[s.mem], Ranges: []sim.Range{{Off: 0, Len: 4}}, Op: s.op})
		}
		cells = maps.Clone(s.done(cells))
		at[r]++
	}
}

// One schedule in which blocks run one after the other finds the races of all, and where it gets through, all do;
// but where a block may miss credits that are taken back.
func TestTheOrderOfOneScheduleFindsTheRacesOfAllOrdersOfBlocks(t *testing.T) {
	races, all := 0, 0
	for seed := uint64(0); seed < 2_500; seed++ {
		rng := rand.New(rand.NewPCG(seed, 9))
		p := randomBlocky(rng)
		tr := p.record(rng)
		if tr == nil {
			continue
		}
		tr.settle()
		if len(tr.wild()) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, tr.wild(), p)
		}
		race, hang, known := p.search()
		if !known {
			continue
		}
		if hang {
			t.Fatalf("seed %d: some order of blocks hangs\n%s", seed, p)
		}
		all++
		if got := len(tr.races()) > 0; got != race {
			t.Fatalf("seed %d: race %v, by all interleavings %v\n%s", seed, got, race, p)
		}
		if race {
			races++
		}
	}
	t.Logf("%d programs, %d race", all, races)
	if races < all/10 || races > all*9/10 {
		t.Error("the programs are too much alike")
	}
}

const blocksProgram = `NR = pl.dynamic("NR")

@pl.jit.inline
def spliced(x: pl.Tensor[[4, 8], pl.FP32], y: pl.Out[pl.Tensor[[4, 8], pl.FP32]], at: pl.Scalar[pl.INDEX]):
    pl.store(pl.load(x, [0, 0], [1, 8]), [at, 0], y)

@pl.jit.incore
def called(x: pl.Tensor[[4, 8], pl.FP32], y: pl.Out[pl.Tensor[[4, 8], pl.FP32]], at: pl.Scalar[pl.INDEX]):
    pl.store(pl.load(x, [0, 0], [1, 8]), [at, 0], y)

@pl.jit
def step(x: pl.Tensor[[4, 8], pl.FP32], y: pl.InOut[pl.Tensor[[4, 8], pl.FP32]], last: pl.Scalar[pl.BOOL],
         data: pl.InOut[pld.DistributedTensor[[4, 8], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(signal))
    n = pld.nranks(pld.get_comm_ctx(signal))
    right = (me + 1) % n
BODY
@pl.jit.host
def main(x: pl.Tensor[[NR, 4, 8], pl.FP32], y: pl.InOut[pl.Tensor[[NR, 4, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([4, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([4, 1], dtype=pl.INT32)
    for k in pl.range(2):
        for r in pl.range(pld.world_size()):
            step(x[r], y[r], k == 1, pld.window(data, [4, 8], dtype=pl.FP32), pld.window(signal, [4, 1], dtype=pl.INT32), device=r)
`

// Every layer that looks at the order says the same of blocks: the code, "" for proved, "?" for not checked.
func TestBlocksAreHeldToWhatOrdersThem(t *testing.T) {
	for _, c := range []struct{ what, body, want string }{
		{"calls from blocks", `for b in pl.spmd(4):
    called(x, y, b)`, ""},
		{"calls from blocks that write one row", `for b in pl.spmd(4):
    called(x, y, b // 2)`, "E0621"},
		{"blocks in blocks", `for a in pl.spmd(2):
    for b in pl.spmd(2):
        spliced(x, y, 2 * a + b)`, ""},
		{"blocks in blocks, each of which has a brother elsewhere", `for a in pl.spmd(2):
    for b in pl.spmd(2):
        spliced(x, y, b)`, "E0621"},
		{"one loop after the other", `for b in pl.spmd(4):
    spliced(x, y, b)
for b in pl.spmd(4):
    spliced(x, y, 3 - b)`, ""},
		{"an iteration that is alone", `for b in pl.spmd(1):
    for a in pl.range(4):
        spliced(x, y, 0)`, ""},
		{"a sum that is handed on", `total = pl.full([1, 8], pl.FP32, 0.0)
for b in pl.spmd(4):
    total = total + pl.load(x, [b, 0], [1, 8])
pl.store(total, [0, 0], y)`, ""},
		{"what stands before the loop is released by a block", `if last:
    pl.store(pl.load(data, [0, 0], [1, 8]), [0, 0], y)
else:
    pld.tile.remote_store(pl.load(x, [0, 0], [1, 8]), data, peer=right, offsets=[0, 0])
    for b in pl.spmd(2):
        pl.store(pl.load(x, [b, 0], [1, 8]), [1 + b, 0], y)
        if b == 1:
            pld.notify(signal, right, [0, 0], 1)
    pld.wait(signal, [0, 0], 1)
    pld.notify(signal, me, [0, 0], -1)`, ""},
		{"what a block has written the next kernel does not release", `if last:
    pld.notify(signal, right, [0, 0], 1)
    pld.wait(signal, [0, 0], 1)
    pld.notify(signal, me, [0, 0], -1)
    pl.store(pl.load(data, [0, 0], [1, 8]), [0, 0], y)
else:
    for b in pl.spmd(2):
        pld.tile.remote_store(pl.load(x, [0, 0], [1, 8]), data, peer=right, offsets=[b, 0])`, "E0612 E0614"},
		{"a put that has landed with the notify of its block", `for b in pl.spmd(2):
    pld.put(data, right, x, dst_offsets=[2 * b, 0], src_offsets=[2 * b, 0], shape=[2, 8])
    pld.notify(signal, right, [b, 0], 1)
for b in pl.spmd(2):
    pl.store(pld.remote_load(data, right, [2 * b, 0], [2, 8]), [2 * b, 0], y)
for b in pl.range(2):
    pld.wait(signal, [b, 0], 1)
    pld.notify(signal, me, [b, 0], -1)`, ""},
		{"two blocks wait for credits of one cell", `for b in pl.spmd(2):
    pld.notify(signal, right, [0, 0], 1)
for b in pl.spmd(2):
    pld.wait(signal, [0, 0], 1)
    pld.notify(signal, me, [0, 0], -1)`, "?"},
		{"all blocks wait for one credit", `pld.notify(signal, right, [0, 0], 1)
for b in pl.spmd(2):
    pld.wait(signal, [0, 0], 1)
    pl.store(pl.load(x, [b, 0], [1, 8]), [b, 0], y)
pld.notify(signal, me, [0, 0], -1)`, ""},
	} {
		body := "    " + strings.ReplaceAll(c.body, "\n", "\n    ") + "\n"
		u := fromText(t, strings.Replace(blocksProgram, "BODY", body, 1))
		for _, layers := range [][]string{{"signals", "order", "cores"}, {"memory", "schedules"}} {
			r := check(t, u, 3, 1, layers)
			got := ""
			switch r.Status() {
			case verify.NotChecked:
				got = "?"
			case verify.Counterexample:
				for _, f := range r.Findings() {
					if f.Severity == diag.Error && got == "" {
						got = f.Code.String()
					}
				}
			}
			if got != c.want && !(got != "" && strings.Contains(c.want, got)) {
				t.Errorf("%s: %v say %q, want %q%s", c.what, layers, got, c.want, reasons(r))
			}
		}
	}
}
