// Package library has a program around each collective of the standard library: what their verification,
// their mutants and the tables in the documentation are made from.
package library

import (
	"fmt"
	"strings"
)

// Program calls one collective, in a kernel that the host gives to every rank Calls times in a row on
// the same windows, with other inputs each time and nothing in between.
type Program struct {
	Name string
	Text string
}

// collective is a call with what it needs around it. Where the rows of a window are one for each rank,
// it says NR.
type collective struct {
	name   string
	call   string // in terms of x, data, signal
	data   string // shape of the window
	signal string
	in     string // shape of a rank's input and of its output
	out    string
	load   string // how the result gets into y
}

const (
	whole = "pl.store(pl.load(data, [0, 0], [1, SIZE]), [0, 0], y)"
	rows  = "for i in pl.range(n):\n        pl.store(pl.load(data, [i, 0], [1, SIZE]), [i, 0], y)"
	stage = "pl.store(pl.load(x, [0, 0], [%s]), [0, 0], data)\n    "
)

func allreduce(name, mode, op, signal string) collective {
	call := fmt.Sprintf("pld.tensor.allreduce(data, signal, op=pld.ReduceOp.%s, mode=%q)", op, mode)
	return collective{name, fmt.Sprintf(stage, "1, SIZE") + call, "1, SIZE", signal, "1, SIZE", "1, SIZE", whole}
}

var collectives = []collective{
	allreduce("allreduce-central", "central", "Sum", "NR, 1"),
	allreduce("allreduce-oneshot", "oneshot", "Max", "NR, 1"),
	allreduce("allreduce-push", "push", "Sum", "NR, 1"),
	allreduce("allreduce-ring", "ring", "Sum", "2 * NR, NR"),
	allreduce("allreduce-eager", "eager", "Sum", "NR, 1"),
	{"broadcast", fmt.Sprintf(stage, "1, SIZE") + "pld.tensor.broadcast(data, signal, root=0)", "1, SIZE", "NR, 1", "1, SIZE", "1, SIZE", whole},
	{"allgather", "pld.tensor.allgather(x, data, signal)", "NR, SIZE", "NR, 1", "1, SIZE", "NR, SIZE", rows},
	{"all_to_all", "pld.tensor.all_to_all(x, data, signal)", "NR, SIZE", "NR, 1", "NR, SIZE", "NR, SIZE", rows},
	{"reduce_scatter", fmt.Sprintf(stage, "NR, SIZE") + "pld.tensor.reduce_scatter(data, signal, op=pld.ReduceOp.Sum)", "NR, SIZE", "NR, 1",
		"NR, SIZE", "1, SIZE", "pl.store(pl.load(data, [me, 0], [1, SIZE]), [0, 0], y)"},
	{"barrier", fmt.Sprintf(stage, "1, SIZE") + "pld.tensor.barrier(signal)", "1, SIZE", "NR, 1", "1, SIZE", "1, SIZE",
		"pl.store(pld.remote_load(data, (me + 1) % n, [0, 0], [1, SIZE]), [0, 0], y)\n    pld.tensor.barrier(signal)"},
}

// Programs are the programs for messages of size elements, with calls calls each.
func Programs(size, calls int) []Program {
	var out []Program
	for _, c := range collectives {
		out = append(out, Program{c.name, c.program(size, calls)})
	}
	return out
}

func (c collective) program(size, calls int) string {
	return strings.NewReplacer("{SIZE}", fmt.Sprint(size), "{CALLS}", fmt.Sprint(calls), "{IN}", c.in, "{OUT}", c.out, "{DATA}", c.data,
		"{SIGNAL}", c.signal, "{CALL}", c.call, "{LOAD}", c.load).Replace(template)
}

const template = `NR = pl.dynamic("NR")
SIZE = {SIZE}
CALLS = {CALLS}


@pl.jit.incore
def step(x: pl.Tensor[[{IN}], pl.FP32], y: pl.Out[pl.Tensor[[{OUT}], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[{DATA}], pl.FP32]],
         signal: pl.InOut[pld.DistributedTensor[[{SIGNAL}], pl.INT32]]):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    {CALL}
    {LOAD}


@pl.jit.host
def main(x: pl.Tensor[[CALLS, NR, {IN}], pl.FP32], y: pl.Out[pl.Tensor[[CALLS, NR, {OUT}], pl.FP32]]):
    data = pld.alloc_window_buffer([{DATA}], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([{SIGNAL}], dtype=pl.INT32)
    for k in pl.range(CALLS):
        for r in pl.range(pld.world_size()):
            step(x[k, r], y[k, r], pld.window(data, [{DATA}], dtype=pl.FP32),
                 pld.window(signal, [{SIGNAL}], dtype=pl.INT32), device=r)
`
