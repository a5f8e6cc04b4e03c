package load

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ptoc/lang/source"
	"ptoc/verify"
)

// collective is a call of a library collective in a kernel, with what it needs around it.
type collective struct {
	name   string
	call   string // in terms of x, data, signal
	data   string // shape of the window; R is the number of ranks
	signal string
	stage  string // how x gets into the window before the call
	rows   string // rows of x and y
}

const stageAll = "pl.store(pl.load(x, [0, 0], [%[1]s, 40]), [0, 0], data)"

var collectives = []collective{
	{"allreduce-auto", "pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum)", "[1, 40]", "[NR, 1]", stageAll, "1"},
	{"allreduce-central", `pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum, mode="central")`, "[1, 40]", "[NR, 1]", stageAll, "1"},
	{"allreduce-oneshot", `pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Max, mode="oneshot")`, "[1, 40]", "[NR, 1]", stageAll, "1"},
	{"allreduce-push", `pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum, mode="push")`, "[1, 40]", "[NR, 1]", stageAll, "1"},
	{"allreduce-ring", `pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Prod, mode="ring")`, "[1, 40]", "[2 * NR, NR]", stageAll, "1"},
	{"broadcast", "pld.tensor.broadcast(data, signal, root=0)", "[1, 40]", "[NR, 1]", stageAll, "1"},
	{"allgather", "pld.tensor.allgather(x, data, signal)", "[NR, 40]", "[NR, 1]", "", "1"},
	{"all_to_all", "pld.tensor.all_to_all(x, data, signal)", "[NR, 40]", "[NR, 1]", "", "NR"},
	{"reduce_scatter", "pld.tensor.reduce_scatter(data, signal, op=pld.ReduceOp.Sum)", "[NR, 40]", "[NR, 1]", stageAll, "NR"},
	{"barrier", "pld.tensor.barrier(signal)", "[1, 40]", "[NR, 1]", stageAll, "1"},
}

// program calls the collective three times in a row on the same windows, with other inputs each time. A
// result is read row by row, and only where it is defined.
func (c collective) program() string {
	stage := c.stage
	if stage != "" {
		stage = "        " + fmt.Sprintf(stage, c.rows) + "\n"
	}
	read := "        pl.store(pl.load(data, [0, 0], [1, 40]), [0, 0], y)\n"
	if c.name == "reduce_scatter" {
		read = "        pl.store(pl.load(data, [me, 0], [1, 40]), [0, 0], y)\n"
	} else if c.name == "barrier" {
		read = "        pl.store(pld.remote_load(data, (me + 1) % n, [0, 0], [1, 40]), [0, 0], y)\n        pld.tensor.barrier(signal)\n"
	} else if c.data == "[NR, 40]" {
		read = "        for i in pl.range(n):\n            pl.store(pl.load(data, [i, 0], [1, 40]), [i, 0], y)\n"
	}
	out := "[1, 40]"
	if c.data == "[NR, 40]" {
		out = "[NR, 40]"
	}
	if c.name == "reduce_scatter" {
		out = "[1, 40]"
	}
	in := fmt.Sprintf("[%s, 40]", c.rows)
	kernel := fmt.Sprintf(`NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[%s, pl.FP32], y: pl.Out[pl.Tensor[%s, pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[%s, pl.FP32]], signal: pl.InOut[pld.DistributedTensor[%s, pl.INT32]]):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    for once in pl.range(1):
%s        %s
%s
`, in, out, c.data, c.signal, stage, c.call, read)
	host := fmt.Sprintf(`@pl.jit.host
def main(x: pl.Tensor[[3, NR, %s], pl.FP32], y: pl.Out[pl.Tensor[[3, NR, %s], pl.FP32]]):
    data = pld.alloc_window_buffer(%s, dtype=pl.FP32)
    signal = pld.alloc_window_buffer(%s, dtype=pl.INT32)
    for k in pl.range(3):
        for r in pl.range(pld.world_size()):
            step(x[k, r], y[k, r], pld.window(data, %s, dtype=pl.FP32), pld.window(signal, %s, dtype=pl.INT32), device=r)
`, strings.Trim(in, "[]"), strings.Trim(out, "[]"), c.data, c.signal, c.data, c.signal)
	return kernel + host
}

func TestNoLibraryCollectiveRaisesAnAlarmAtAnyRankCount(t *testing.T) {
	for _, c := range collectives {
		t.Run(c.name, func(t *testing.T) {
			u, err := Source(source.NewFile(c.name+".pl", c.program()), Options{})
			if err != nil {
				t.Fatalf("%v\n%s", err, c.program())
			}
			for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 16} {
				p, err := u.Program(n)
				if err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				r := verify.Check(p, static, []verify.Scope{p.Scope(n, 1, nil)})
				if r.Status() != verify.Proved {
					t.Errorf("%d ranks:%s", n, reasons(r))
				}
				t.Logf("%2d ranks: %v", n, time.Since(begin).Round(10*time.Microsecond))
			}
		})
	}
}
