package stdlib_test

import (
	"fmt"
	"strings"

	"ptoc/ir"
)

// rounds is how often a test program calls its collective, on the same windows and signals, with new
// inputs each time.
const rounds = 3

// A call is one collective under test.
type call struct {
	op     string // "allreduce", ...
	mode   string // allreduce
	reduce string // "Sum", ...; "" where nothing is combined
	dtype  ir.DType
	ranks  int
	n      int  // elements of a row
	sized  bool // n is known to the compiler
	host   bool // the host calls it
}

func (c call) String() string {
	s := fmt.Sprintf("%s/%s%s/%s/ranks=%d/n=%d", c.op, c.mode, c.reduce, c.dtype, c.ranks, c.n)
	if !c.sized {
		s += "/dynamic"
	}
	if c.host {
		s += "/host"
	}
	return s
}

// rows says whether rank r's input and output have a row per rank.
func (c call) rows() (in, out bool) {
	switch c.op {
	case "allgather":
		return false, true
	case "reduce_scatter":
		return true, false
	case "all_to_all":
		return true, true
	}
	return false, false
}

// text is a program that calls c three times: x[r] holds rank r's inputs of all rounds, y[r] the
// results. Between calls a rank does nothing but copy: it overwrites its input as early as it may.
func (c call) text() string {
	in, out := c.rows()
	rows := func(many bool) string {
		if many {
			return "NR"
		}
		return "1"
	}
	// Windows: data is what the collective works on in place, or its input where that may be one.
	target := "[1, N]"
	if in || out {
		target = "[NR, N]"
	}
	signal := "[NR, 1]"
	if c.mode == "ring" {
		signal = "[2 * (NR - 1), NR]"
	}
	r := strings.NewReplacer("{T}", "pl."+c.dtype.String(), "{IN}", rows(in), "{OUT}", rows(out), "{TARGET}", target,
		"{SIGNAL}", signal, "{N}", c.sizeDecl(), "{STAGE}", c.stage(), "{CALL}", c.callText(), "{RESULT}", c.result())
	if c.host {
		return r.Replace(header + hostProgram)
	}
	return r.Replace(header + kernelProgram)
}

func (c call) sizeDecl() string {
	if c.sized {
		return fmt.Sprint(c.n)
	}
	return `pl.dynamic("N")`
}

// stage puts round k of x into the window, unless the collective reads x itself.
func (c call) stage() string {
	switch c.op {
	case "allgather", "all_to_all":
		return "pass"
	case "reduce_scatter":
		return "copy(x, k * n, data, 0, n)"
	}
	return "copy(x, k, data, 0, 1)"
}

// result copies what the collective made into round k of y.
func (c call) result() string {
	switch c.op {
	case "allgather", "all_to_all":
		return "copy(data, 0, y, k * n, n)"
	case "reduce_scatter":
		return "copy(data, me, y, k, 1)"
	}
	return "copy(data, 0, y, k, 1)"
}

func (c call) callText() string {
	reduce := ""
	if c.reduce != "" {
		reduce = ", op=pld.ReduceOp." + c.reduce
	}
	switch c.op {
	case "allreduce":
		return fmt.Sprintf("pld.tensor.allreduce(data, signal%s, mode=%q)", reduce, c.mode)
	case "reduce_scatter":
		return "pld.tensor.reduce_scatter(data, signal" + reduce + ")"
	case "broadcast":
		return fmt.Sprintf("pld.tensor.broadcast(data, signal, root=%d)", c.root())
	case "allgather":
		return "pld.tensor.allgather(x[k:k + 1, :], data, signal)"
	case "all_to_all":
		return "pld.tensor.all_to_all(x[k * n:k * n + NR, :], data, signal)"
	}
	return "pld.tensor.barrier(signal)"
}

// root is a rank of any domain of the test: the program is written for one root.
func (c call) root() int { return min(1, c.ranks-1) }

const header = `NR = pl.dynamic("NR")
N = {N}
R = pl.dynamic("R")
S = pl.dynamic("S")

@pl.jit.inline
def copy(a: pl.Tensor[[R, N], {T}], i: pl.Scalar[pl.INDEX], b: pl.InOut[pl.Tensor[[S, N], {T}]], j: pl.Scalar[pl.INDEX], rows: pl.Scalar[pl.INDEX]):
    for row in pl.range(rows):
        for at in pl.range(0, N, 512):
            t = pl.load(a, [i + row, at], [1, 512], valid_shape=[1, pl.min(N - at, 512)])
            pl.store(t, [j + row, at], b)
`

const kernelProgram = `
@pl.jit.incore
def step(x: pl.Tensor[[{IN} * 3, N], {T}], y: pl.Out[pl.Tensor[[{OUT} * 3, N], {T}]],
         data: pl.InOut[pld.DistributedTensor[{TARGET}, {T}]], signal: pl.InOut[pld.DistributedTensor[{SIGNAL}, pl.INT32]]):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
    for k in pl.range(3):
        {STAGE}
        {CALL}
        {RESULT}

@pl.jit.host
def main(x: pl.Tensor[[NR, {IN} * 3, N], {T}], y: pl.Out[pl.Tensor[[NR, {OUT} * 3, N], {T}]]):
    data_buf = pld.alloc_window_buffer({TARGET}, dtype={T})
    signal_buf = pld.alloc_window_buffer({SIGNAL}, dtype=pl.INT32)
    data = pld.window(data_buf, {TARGET}, dtype={T})
    signal = pld.window(signal_buf, {SIGNAL}, dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], data, signal, device=r)
`

// hostProgram has the collective in the host function: in-place ones only.
const hostProgram = `
@pl.jit.incore
def before(x: pl.Tensor[[{IN} * 3, N], {T}], data: pl.InOut[pld.DistributedTensor[{TARGET}, {T}]], k: pl.Scalar[pl.INDEX]):
    n = pld.nranks(pld.get_comm_ctx(data))
    {STAGE}

@pl.jit.incore
def after(y: pl.Out[pl.Tensor[[{OUT} * 3, N], {T}]], data: pl.InOut[pld.DistributedTensor[{TARGET}, {T}]], k: pl.Scalar[pl.INDEX]):
    me = pld.rank(pld.get_comm_ctx(data))
    {RESULT}

@pl.jit.host
def main(x: pl.Tensor[[NR, {IN} * 3, N], {T}], y: pl.Out[pl.Tensor[[NR, {OUT} * 3, N], {T}]]):
    data_buf = pld.alloc_window_buffer({TARGET}, dtype={T})
    signal_buf = pld.alloc_window_buffer({SIGNAL}, dtype=pl.INT32)
    data = pld.window(data_buf, {TARGET}, dtype={T})
    signal = pld.window(signal_buf, {SIGNAL}, dtype=pl.INT32)
    for k in pl.range(3):
        for r in pl.range(pld.world_size()):
            before(x[r], data, k, device=r)
        {CALL}
        for r in pl.range(pld.world_size()):
            after(y[r], data, k, device=r)
`
