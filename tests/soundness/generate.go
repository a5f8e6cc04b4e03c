// Package soundness holds what ptoc verify says of random programs against what they do when they run.
package soundness

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Kernels of random programs see x, y: 4 rows of 4; data: a window of 4 rows; signal: a window of 3 x n cells.
const header = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[4, 4], pl.FP32], y: pl.InOut[pl.Tensor[[4, 4], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[4, 4], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[NR, 3], pl.INT32]]):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    right = (me + 1) % n
    left = (me + n - 1) % n
`

const host = `

@pl.jit.host
def main(x: pl.Tensor[[NR, 4, 4], pl.FP32], y: pl.InOut[pl.Tensor[[NR, 4, 4], pl.FP32]]):
    data = pld.alloc_window_buffer([4, 4], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 3], dtype=pl.INT32)
    for k in pl.range(%d):
        for r in pl.range(pld.world_size()):
            step(x[r], y[r], pld.window(data, [4, 4], dtype=pl.FP32), pld.window(signal, [NR, 3], dtype=pl.INT32), device=r)
`

// Program makes a random program: phases that move data, with signals between them that are mostly right. The
// faults are those of people: a line that is missing, a cell, peer, row or value that is another one.
func Program(seed uint64) string {
	g := &generator{r: rand.New(rand.NewPCG(seed, 1))}
	g.faults = g.r.IntN(3)
	for range 1 + g.r.IntN(3) {
		g.phase()
	}
	g.spoil()
	return header + strings.Join(g.lines, "\n") + fmt.Sprintf(host, 1+g.r.IntN(2))
}

type generator struct {
	r      *rand.Rand
	lines  []string
	faults int
}

func (g *generator) line(depth int, format string, args ...any) {
	g.lines = append(g.lines, strings.Repeat("    ", depth+1)+fmt.Sprintf(format, args...))
}

func (g *generator) one(of ...string) string { return of[g.r.IntN(len(of))] }

// phase is data that goes from rank to rank, released and acquired in one of the usual ways.
func (g *generator) phase() {
	cell := g.r.IntN(3)
	row, to := g.r.IntN(4), g.r.IntN(4)
	if g.r.IntN(3) == 0 {
		g.line(0, "pl.store(pl.load(x, [%d, 0], [1, 4]) + pl.load(y, [%d, 0], [1, 4]), [%d, 0], y)", row, to, to)
	}
	switch g.r.IntN(12) {
	case 0: // push to a neighbour, which answers when it has read
		peer, from := "right", "left"
		if g.r.IntN(2) == 0 {
			peer, from = from, peer
		}
		g.line(0, "pld.tile.remote_store(pl.load(x, [%d, 0], [1, 4]), data, peer=%s, offsets=[%d, 0])", row, peer, to)
		g.line(0, "pld.notify(signal, %s, [0, %d], 1)", peer, cell)
		g.line(0, "pld.wait(signal, [0, %d], 1)", cell)
		g.line(0, "pld.notify(signal, me, [0, %d], -1)", cell)
		g.line(0, "pl.store(pl.load(data, [%d, 0], [1, 4]), [%d, 0], y)", to, g.r.IntN(4))
		g.line(0, "pld.notify(signal, %s, [1, %d], 1)", from, cell)
		g.line(0, "pld.wait(signal, [1, %d], 1)", cell)
		g.line(0, "pld.notify(signal, me, [1, %d], -1)", cell)
	case 1: // publish, meet, pull, meet
		g.line(0, "pl.store(pl.load(x, [%d, 0], [1, 4]), [%d, 0], data)", row, to)
		g.meet(cell)
		g.line(0, "pl.store(pld.remote_load(data, %s, [%d, 0], [1, 4]), [%d, 0], y)", g.one("right", "left", "0", "n - 1"), to, g.r.IntN(4))
		g.meet(cell)
	case 2: // add up at one rank, which all wait for
		root := g.one("0", "n - 1")
		g.line(0, "pld.tile.remote_store(pl.load(x, [%d, 0], [1, 4]), data, peer=%s, offsets=[%d, 0], atomic=pld.AtomicType.Add)", row, root, to)
		g.meet(cell)
		g.line(0, "pl.store(pld.remote_load(data, %s, [%d, 0], [1, 4]), [%d, 0], y)", root, to, g.r.IntN(4))
		g.meet(cell)
	case 4: // all give to a root, which has cleared its cell
		g.line(0, "if me == 0:")
		g.line(1, "pld.notify(signal, 0, [0, %d], 0, op=pld.NotifyOp.Set)", cell)
		g.meet((cell + 1) % 3)
		g.line(0, "if me > 0:")
		g.line(1, "pld.tile.remote_store(pl.load(x, [%d, 0], [1, 4]), data, peer=0, offsets=[me, 0])", row)
		g.line(1, "pld.notify(signal, 0, [0, %d], 1)", cell)
		g.line(0, "else:")
		g.line(1, "pld.wait(signal, [0, %d], %s)", cell, g.one("1", "n - 1", "n - 1"))
		g.line(1, "pl.store(pl.load(data, [%d, 0], [1, 4]), [%d, 0], y)", 1+g.r.IntN(2), g.r.IntN(4))
		g.meet((cell + 1) % 3)
	case 5: // blocks push rows, which each of them or one notify behind the loop releases
		g.line(0, "for b in pl.%s(3):", g.one("spmd", "spmd", "parallel"))
		g.line(1, "pld.tile.remote_store(pl.load(x, [b, 0], [1, 4]), data, peer=right, offsets=[%s, 0])", g.one("b", "b", "b + 1", "3 - b", "0"))
		each, count := g.r.IntN(2), 1
		if each == 1 {
			count = 3
		}
		g.line(each, "pld.notify(signal, right, [0, %d], 1)", cell)
		g.line(0, "pld.wait(signal, [0, %d], %d)", cell, count)
		g.line(0, "pld.notify(signal, me, [0, %d], -%d)", cell, count)
		g.line(0, "for b in pl.%s(3):", g.one("spmd", "spmd", "range"))
		g.line(1, "pl.store(pl.load(data, [b, 0], [1, 4]), [%s, 0], y)", g.one("b", "b", "3 - b", "1"))
		g.line(0, "pld.notify(signal, left, [1, %d], 1)", cell)
		g.line(0, "pld.wait(signal, [1, %d], 1)", cell)
		g.line(0, "pld.notify(signal, me, [1, %d], -1)", cell)
	case 3: // data says to whom, and how often
		g.line(0, "for i in pl.range(pl.cast(pl.read(x, [%d, 1]), pl.INDEX) %% 3):", to)
		g.line(1, "pld.tile.remote_store(pl.load(x, [i, 0], [1, 4]), data, peer=pl.cast(pl.read(x, [%d, 0]), pl.INDEX) %% n, offsets=[me, 0])", row)
		g.meet(cell)
		g.line(0, "pl.store(pl.load(data, [%d, 0], [1, 4]), [%d, 0], y)", g.r.IntN(3), g.r.IntN(4))
		g.meet(cell)
	case 7: // a box at the neighbour that is full or empty, by sets and waits for equality
		g.line(0, "pld.put(data, right, x, [%d, 0], [%d, 0], [1, 4])", to, row)
		g.line(0, "pld.notify(signal, right, [0, %d], 1, op=pld.NotifyOp.Set)", cell)
		g.line(0, "pld.wait(signal, [0, %d], 1, cmp=pld.WaitCmp.Eq)", cell)
		g.line(0, "pl.store(pl.load(data, [%d, 0], [1, 4]), [%d, 0], y)", to, g.r.IntN(4))
		g.line(0, "pld.notify(signal, me, [0, %d], 0, op=pld.NotifyOp.Set)", cell)
		g.line(0, "pld.notify(signal, left, [1, %d], 1, op=pld.NotifyOp.Set)", cell)
		g.line(0, "pld.wait(signal, [1, %d], 1, cmp=pld.WaitCmp.Eq)", cell)
		g.line(0, "pld.notify(signal, me, [1, %d], 0, op=pld.NotifyOp.Set)", cell)
	case 8: // a flag that is up until the neighbour has read
		g.line(0, "pl.store(pl.load(x, [%d, 0], [1, 4]), [%d, 0], data)", row, to)
		g.line(0, "pld.notify(signal, me, [0, %d], 1)", cell)
		g.line(0, "pld.notify(signal, right, [1, %d], 1)", cell)
		g.line(0, "pld.wait(signal, [1, %d], 1)", cell)
		g.line(0, "pld.notify(signal, me, [1, %d], -1)", cell)
		g.line(0, "pl.store(pld.remote_load(data, left, [%d, 0], [1, 4]), [%d, 0], y)", to, g.r.IntN(4))
		g.line(0, "pld.notify(signal, left, [0, %d], -1)", cell)
		g.line(0, "pld.wait(signal, [0, %d], 0, cmp=pld.WaitCmp.Eq)", cell)
	case 9: // iterations or blocks of the ranks meet
		g.line(0, "for b in pl.%s(3):", g.one("spmd", "parallel", "range"))
		g.line(1, "pld.put(data, right, x, [b, 0], [%s, 0], [1, 4])", g.one("b", "b", "3 - b"))
		g.line(1, "pld.notify(signal, right, [0, %s], 1)", g.one("b", "b", "0"))
		if g.r.IntN(2) == 0 {
			g.line(0, "for b in pl.%s(3):", g.one("spmd", "parallel", "range"))
		}
		g.line(1, "pld.wait(signal, [0, b], 1)")
		g.line(1, "pld.notify(signal, me, [0, b], -1)")
		g.line(1, "pl.store(pl.load(data, [b, 0], [1, 4]), [%s, 0], y)", g.one("b", "b", "3 - b", "0"))
		g.meet(cell)
	case 10: // data that a third rank tells of, or the second one itself
		g.line(0, "if me == 0:")
		g.line(1, "pld.put(data, 1 %% n, x, [%d, 0], [%d, 0], [1, 4])", to, row)
		g.line(1, "pld.notify(signal, 2 %% n, [0, %d], 1)", cell)
		g.line(0, "if me == 2 %% n:")
		g.line(1, "pld.wait(signal, [0, %d], 1)", cell)
		g.line(1, "pld.notify(signal, me, [0, %d], -1)", cell)
		g.line(1, "pld.notify(signal, 1 %% n, [1, %d], 1)", cell)
		g.line(0, "if me == 1 %% n:")
		g.line(1, "pld.wait(signal, [1, %d], 1)", cell)
		g.line(1, "pld.notify(signal, me, [1, %d], -1)", cell)
		g.line(1, "pl.store(pl.load(data, [%d, 0], [1, 4]), [%d, 0], y)", to, g.r.IntN(4))
		g.meet(cell)
	case 11: // a get of what a neighbour has published, and an add to it by somebody
		g.line(0, "pld.put(data, %s, x, [%d, 0], [%d, 0], [1, 4], atomic=pld.AtomicType.Add)", g.one("right", "left", "0", "me"), to, row)
		g.meet(cell)
		g.line(0, "pld.get(data, %s, data, [%d, 0], [%d, 0], [1, 4])", g.one("right", "left", "0"), 3-to, to)
		g.line(0, "pl.store(pl.load(data, [%d, 0], [1, 4]), [%d, 0], y)", 3-to, g.r.IntN(4))
		g.meet(cell)
	default: // one rank hands on to the next
		g.line(0, "if me > 0:")
		g.line(1, "pld.wait(signal, [0, %d], 1)", cell)
		g.line(1, "pld.notify(signal, me, [0, %d], -1)", cell)
		g.line(0, "if me + 1 < n:")
		g.line(1, "pld.tile.remote_store(pl.load(x, [%d, 0], [1, 4]), data, peer=me + 1, offsets=[%d, 0])", row, to)
		g.line(1, "pld.notify(signal, me + 1, [0, %d], 1)", cell)
		g.line(0, "if me > 0:")
		g.line(1, "pl.store(pl.load(data, [%d, 0], [1, 4]), [%d, 0], y)", to, g.r.IntN(4))
		if g.r.IntN(3) > 0 {
			g.meet(cell)
		}
	}
}

// meet is a barrier in column cell, each rank with a row of its own.
func (g *generator) meet(cell int) {
	g.line(0, "for i in pl.range(1, n):")
	g.line(1, "pld.notify(signal, (me + i) %% n, [me, %d], 1)", cell)
	g.line(0, "for i in pl.range(1, n):")
	g.line(1, "pld.wait(signal, [(me + i) %% n, %d], 1)", cell)
	g.line(1, "pld.notify(signal, me, [(me + i) %% n, %d], -1)", cell)
}

// spoil changes some lines.
func (g *generator) spoil() {
	for range g.faults {
		i := g.r.IntN(len(g.lines))
		old := g.lines[i]
		indent := old[:len(old)-len(strings.TrimLeft(old, " "))]
		if strings.HasSuffix(old, ":") {
			continue
		}
		change := [][2]string{{"right", "left"}, {", 1)", ", 2)"}, {"[0, ", "[1, "}, {", -1)", ", 0)"}, {"[1, ", "[0, "}, {"-1)", "-1, op=pld.NotifyOp.AtomicAdd)"},
			{"[me, ", "[0, "}, {", 1)", ", 1, cmp=pld.WaitCmp.Eq)"}, {", 1)", ", 1, op=pld.NotifyOp.Set)"}, {"data, [", "data, [1 + "}}[g.r.IntN(10)]
		switch k := g.r.IntN(4); {
		case k == 0:
			g.lines[i] = indent + "pl.store(pl.load(x, [0, 0], [1, 4]), [0, 0], y)" // instead of the line
		case k == 1 && i > 0 && strings.HasPrefix(g.lines[i-1], indent+"pl"):
			g.lines[i], g.lines[i-1] = g.lines[i-1], old
		default:
			wait := strings.Contains(old, "pld.wait")
			if strings.Contains(change[1], "cmp=") != wait && strings.Contains(change[1], "=pld") {
				continue
			}
			g.lines[i] = strings.Replace(old, change[0], change[1], 1)
		}
	}
}
