package run

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// overlaps is a program whose kernel reads and writes one buffer in the lines given; the golden function is
// the same lines. An assignment reads everything before it writes anything.
const overlaps = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.InOut[pl.Tensor[[6, 320], pl.FP32]], k: pl.Scalar[pl.INDEX]):
%[1]s
@pl.jit
def chip(x: pl.InOut[pl.Tensor[[6, 320], pl.FP32]], k: pl.Scalar[pl.INDEX]):
    step(x, k)

@pl.golden(of=chip)
def expected(x, k):
%[1]s`

func TestWhatReadsAndWritesOneBufferReadsFirst(t *testing.T) {
	for name, body := range map[string]string{
		"a row down":               "    x[0:5, :] = x[1:6, :] + 1.0\n",
		"a row up":                 "    x[1:6, :] = x[0:5, :] + 1.0\n",
		"an element to the left":   "    x[0:1, 0:319] = x[0:1, 1:320] + 1.0\n",
		"an element to the right":  "    x[0:1, 1:320] = x[0:1, 0:319] + 1.0\n",
		"without arithmetic":       "    x[1:6, :] = x[0:5, :]\n",
		"an offset known late":     "    x[0:1, k:k + 300] = x[0:1, 7:307] * 2.0\n",
		"both offsets known late":  "    x[0:1, k:k + 300] = x[0:1, k + 1:k + 301] * 2.0\n",
		"the same place":           "    x[2:4, :] = x[2:4, :] * 2.0 + x[2:4, :]\n",
		"a broadcast row":          "    x[0:6, :] = x[0:6, :] + x[3:4, :]\n",
		"a broadcast column":       "    x[0:6, :] = x[0:6, :] * x[0:6, 1:2]\n",
		"a later store reads":      "    t = x[0:1, 0:319]\n    x[0:1, 1:320] = t\n    x[2:3, 1:320] = t + 1.0\n",
		"two stores that cross":    "    a = x[0:1, :]\n    b = x[1:2, :]\n    x[1:2, :] = a\n    x[0:1, :] = b\n",
		"a view of a view":         "    v = x[1:5, :]\n    v[0:3, :] = x[2:5, :] + 1.0\n    x[0:3, :] = v[0:3, :]\n",
		"one loop after the other": "    for i in pl.range(5):\n        x[i + 1:i + 2, :] = x[i:i + 1, :] + 1.0\n",
		"a sum of what it writes":  "    x[0:1, 0:1] = pl.sum(x[0:1, :], axis=1, keepdims=True)\n    x[0:1, :] = x[0:1, :] - x[0:1, 0:1]\n",
	} {
		for _, w := range everywhere(t) {
			t.Run(name+"/"+w.backend+"-"+w.String(), func(t *testing.T) {
				o := w.options(Options{})
				o.File, o.Check, o.Ins = file(t, fmt.Sprintf(overlaps, body)), true, []string{"k=3", "x=randn:5"}
				r, err := Run(context.Background(), o)
				if err == nil {
					err = r.Err()
				}
				if err != nil {
					t.Fatal(render(err))
				}
			})
		}
	}
}

// A rank that is its own peer copies within one window, as memmove does.
const within = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[6, 320], pl.FP32], y: pl.Out[pl.Tensor[[6, 320], pl.FP32]],
         w: pl.InOut[pld.DistributedTensor[[6, 320], pl.FP32]], k: pl.Scalar[pl.INDEX]):
    w[:] = x
    me = pld.rank(pld.get_comm_ctx(w))
    %s
    y[:] = w

@pl.jit.host
def main(x: pl.Tensor[[NR, 6, 320], pl.FP32], y: pl.Out[pl.Tensor[[NR, 6, 320], pl.FP32]]):
    buf = pld.alloc_window_buffer([6, 320], dtype=pl.FP32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], pld.window(buf, [6, 320], dtype=pl.FP32), 1, device=r)

@pl.golden(of=main)
def expected(x, y):
    for r in pl.range(NR):
        y[r] = x[r]
        y[r, %s] = x[r, %s]
`

func TestAPutWithinAWindowReadsFirst(t *testing.T) {
	for _, c := range []struct{ op, dst, src string }{
		{"pld.put(w, me, w, dst_offsets=[1, 0], src_offsets=[0, 0], shape=[4, 100])", "1:5, 0:100", "0:4, 0:100"},
		{"pld.put(w, me, w, dst_offsets=[0, 0], src_offsets=[1, 0], shape=[4, 100])", "0:4, 0:100", "1:5, 0:100"},
		{"pld.put(w, me, w, dst_offsets=[k, 3], src_offsets=[0, 0], shape=[4, 300])", "1:5, 3:303", "0:4, 0:300"},
		{"pld.put(w, me, w, dst_offsets=[k, 0], src_offsets=[0, 3], shape=[5, 300])", "1:6, 0:300", "0:5, 3:303"},
		{"pld.put(w, me, w, dst_offsets=[0, 3], src_offsets=[0, 0], shape=[6, 300], stream=True)", "0:6, 3:303", "0:6, 0:300"},
		{"pld.put(w, me, w, dst_offsets=[k, 0], src_offsets=[0, 0], shape=[5, 320], stream=True)", "1:6, 0:320", "0:5, 0:320"},
		{"pld.get(w, me, w, dst_offsets=[k, 0], src_offsets=[0, 0], shape=[5, 320])", "1:6, 0:320", "0:5, 0:320"},
		{"pld.remote_store(pl.load(w, [0, 0], [5, 320]), w, me, [1, 0])", "1:6, 0:320", "0:5, 0:320"},
		{"pl.store(pld.remote_load(w, me, [0, 0], [5, 320]), [1, 0], w)", "1:6, 0:320", "0:5, 0:320"},
	} {
		for _, w := range everywhere(t) {
			t.Run(c.op+"/"+w.backend+"-"+w.String(), func(t *testing.T) {
				r, err := Run(context.Background(), w.options(Options{Ranks: 2, Check: true, File: file(t, fmt.Sprintf(within, c.op, c.dst, c.src))}))
				if err == nil {
					err = r.Err()
				}
				if err != nil {
					t.Fatal(render(err))
				}
			})
		}
	}
}

func TestArgumentsThatOverlapWithTheValuesOfARun(t *testing.T) {
	const add = `NR = pl.dynamic("NR")

@pl.jit.incore
def add(a: pl.Tensor[[1, 4], pl.FP32], b: pl.Out[pl.Tensor[[1, 4], pl.FP32]]):
    pl.store(pl.load(a, [0, 0], [1, 4]) + 1.0, [0, 0], b)

`
	for name, c := range map[string]struct{ text, want string }{
		"of a dispatch": {add + `@pl.jit.host
def main(x: pl.InOut[pl.Tensor[[NR, 1, 4], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        add(x[r], x[1], device=r)  # HERE
`, "a and b of add overlap, and it writes one of them"},
		"of a call": {add + `@pl.jit
def chip(x: pl.InOut[pl.Tensor[[4, 1, 4], pl.FP32]]):
    for r in pl.range(4):
        add(x[r], x[2])  # HERE
`, "arguments 1 and 2 overlap"},
		"of a call in an inline function": {add + `@pl.jit.inline
def twice(a: pl.Tensor[[1, 4], pl.FP32], b: pl.InOut[pl.Tensor[[1, 4], pl.FP32]]):
    add(a, b)  # HERE

@pl.jit
def chip(x: pl.InOut[pl.Tensor[[1, 4], pl.FP32]]):
    twice(x, x)
`, "arguments 1 and 2 overlap"},
		"of a put that adds": {fmt.Sprintf(within,
			"pld.put(w, me, w, dst_offsets=[k, 0], src_offsets=[0, 0], shape=[5, 320], atomic=pld.AtomicType.Add)  # HERE",
			"0:1, 0:1", "0:1, 0:1"), "arguments 1 and 3 overlap, and one of them is written"},
		"two windows on one buffer": {`NR = pl.dynamic("NR")

@pl.jit.incore
def tell(d: pl.InOut[pld.DistributedTensor[[4], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]]):
    pld.system.notify(s, pld.rank(pld.get_comm_ctx(s)), [0, 0], 1)

@pl.jit.host
def main():
    buf = pld.alloc_window_buffer([4], dtype=pl.FP32)
    for r in pl.range(pld.world_size()):
        tell(pld.window(buf, [4], dtype=pl.FP32), pld.window(buf, [4, 1], dtype=pl.INT32), device=r)  # HERE
`, "d and s of tell overlap"},
	} {
		for _, w := range everywhere(t) {
			t.Run(name+"/"+w.backend+"-"+w.String(), func(t *testing.T) {
				o := w.options(Options{})
				o.File = file(t, c.text)
				_, err := Run(context.Background(), o)
				if err == nil {
					t.Fatal("no error")
				}
				got := render(err)
				for _, want := range []string{"E0719", c.want, fmt.Sprintf(".pl:%d:", markedLine(c.text))} {
					if !strings.Contains(got, want) {
						t.Errorf("no %q in\n%s", want, got)
					}
				}
			})
		}
	}
}
