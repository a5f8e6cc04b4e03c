package load

import (
	"fmt"
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/verify"
)

// around is a program whose kernel is body: x is [N, 64], y [64], data a window [NR, 64], signal one of cells.
func around(body string) string {
	return `NR = pl.dynamic("NR")
N = pl.dynamic("N")

@pl.jit.incore
def step(x: pl.Tensor[[N, 64], pl.FP32], y: pl.Out[pl.Tensor[[1, 64], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[NR, 64], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    ctx = pld.get_comm_ctx(data)
    me = pld.rank(ctx)
    n = pld.nranks(ctx)
` + body + `
@pl.jit.host
def main(x: pl.Tensor[[NR, N, 64], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 64], pl.FP32]]):
    data = pld.alloc_window_buffer([NR, 64], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], pld.window(data, [NR, 64], dtype=pl.FP32), pld.window(signal, [NR, 1], dtype=pl.INT32), device=r)
`
}

func unit(t *testing.T, text string) *Unit {
	t.Helper()
	u, err := Source(source.NewFile("test.pl", text), Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return u
}

func TestBoundsHoldForEveryNumberOfRanksWhereTheyCanBeProved(t *testing.T) {
	for body, want := range map[string]string{
		`    for i in pl.range(N):
        pl.store(pl.load(x, [i, 0], [1, 64]), [0, 0], y)
`: "2 accesses, for every",
		`    for i in pl.range(N // 4):
        pl.store(pl.load(x, [i * 4 + 3, 0], [1, 64]), [me, 0], data)
`: "2 accesses, for every",
		`    t = pld.tile.remote_load(data, peer=(me + n - 1) % n, offsets=[(me + 1) % n, 32], shape=[1, 32])
    pl.store(t, [0, 0], y)
`: "3 accesses, for every",
		`    pld.notify(signal, (me + 1) % n, [me, 0], 1)
    pld.wait(signal, [(me + n - 1) % n, 0], 1)
`: "3 accesses, for every",
		`    pl.store(pl.load(x, [5, 0], [1, 64]), [0, 0], y)
`: "1 of 2 accesses for every",
		`    share = 64 // n
    for p in pl.range(n):
        for i in pl.range(share):
            pl.write(y, [0, p * share + i], 1.0)
`: "1 access, for every",
		`    share = 64 // n
    for p in pl.range(n):
        pl.write(y, [0, p * share + share - 1], 1.0)
`: "0 of 1 accesses for every", // more than 64 ranks have shares of 0
	} {
		p, err := unit(t, around(body)).Program(2)
		if err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		v := verify.Check(p, []string{"bounds"}, []verify.Scope{p.Scope(2, 1, nil)}).Verdicts[0]
		if !strings.HasPrefix(v.Reason, want) {
			t.Errorf("%s, want %s:\n%s", v.Reason, want, body)
		}
	}
}

func TestAnAccessThatIsOutOfBoundsForEveryNumberOfRanksIsReportedInEveryCompile(t *testing.T) {
	for body, want := range map[string]string{
		"    for i in pl.range(n):\n        pl.store(pl.load(x, [0, 0], [1, 64]), [0, i], y)\n":                    "",
		"    for i in pl.range(1, 9):\n        pl.store(pl.load(x, [0, i], [1, 60]), [0, 0], y)\n":                 "E0601: dimension 1 of x is accessed up to 68, which has 64",
		"    pld.notify(signal, me + 1, [me, 0], 1)\n":                                                             "E0602: rank n is addressed, and ranks count from 0",
		"    pld.notify(signal, me - 1, [me, 0], 1)\n":                                                             "E0602: rank -1 is addressed",
		"    pld.notify(signal, n, [me, 0], 1)\n":                                                                  "E0602: rank n is addressed, and ranks count from 0",
		"    if me + 1 < n:\n        pld.notify(signal, me + 1, [me, 0], 1)\n":                                     "",
		"    for i in pl.range(me + 1):\n        pld.notify(signal, i, [me, 0], 1)\n":                              "",
		"    for i in pl.range(n):\n        pld.notify(signal, i + 1, [me, 0], 1)\n":                               "E0602: rank n is addressed, and ranks count from 0",
		"    for i in pl.range(me + 1):\n        pld.notify(signal, n - 1 - me + i, [me, 0], 1)\n":                 "",
		"    for i in pl.range(N):\n        pl.store(pl.load(x, [i + 1, 0], [1, 64]), [0, 0], y)\n":                "", // N may be 0
		"    for i in pl.range(0, N + 1):\n        pl.store(pl.load(x, [i, 0], [1, 64]), [0, 0], y)\n":             "E0601: dimension 0 of x is accessed up to N + 1, which has N",
		"    for i in pl.range(0, 2 * N + 1, 2):\n        pl.store(pl.load(x, [i // 2, 0], [1, 64]), [0, 0], y)\n": "",
		"    for i in pl.range(0, 2 * N + 1, 2):\n        pl.store(pl.load(x, [i, 0], [1, 64]), [0, 0], y)\n":      "E0601: dimension 0 of x is accessed up to N * 2 + 1, which has N",
		"    for i in pl.range(0, N * 8 + 1, 4):\n        pl.store(pl.load(x, [i - 4, 0], [1, 64]), [0, 0], y)\n":  "E0601: dimension 0 of x is accessed from -4 on",
	} {
		var got []string
		for _, f := range verify.Bounds(unit(t, around(body)).Checked) {
			got = append(got, fmt.Sprintf("%s: %s", f.Code, f.Message))
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%q, want %q:\n%s", s, want, body)
		}
	}
}

// A kernel takes its parameters to be different memory as soon as it writes one of them, and a run ends with the same error:
// two windows of one buffer, and parts of a tensor at offsets that only a run knows.
func TestMemoryThatIsPassedTwiceAndWrittenIsReported(t *testing.T) {
	for _, c := range []struct {
		first, second string
		code          diag.Code
	}{
		{"pld.window(data, [1, 8], dtype=pl.FP32)", "pld.window(data, [2, 8], dtype=pl.FP32)", diag.OverlapAtRun},
		{"pld.window(data, [1, 8], dtype=pl.FP32)", "pld.window(more, [2, 8], dtype=pl.FP32)", 0},
		{"y[r:r + 1]", "y[2 * r:2 * r + 2]", diag.OverlapAtRun},
		{"y[r:r + 1]", "y[2 * r + 2:2 * r + 4]", 0},
	} {
		text := `
@pl.jit.incore
def k(a: pl.MEMORY[[1, 8], pl.FP32], b: pl.InOut[pl.MEMORY[[2, 8], pl.FP32]]):
    b[0:1, :] = a + 1.0

@pl.jit.host
def main(y: pl.InOut[pl.Tensor[[8, 8], pl.FP32]]):
` + allocations(c.first+c.second) + `    for r in pl.range(pld.world_size()):
        k(` + c.first + ", " + c.second + ", device=r)\n"
		memory := "pl.Tensor"
		if strings.Contains(c.first, "window") {
			memory = "pld.DistributedTensor"
		}
		r := reportOf(t, unit(t, strings.ReplaceAll(text, "pl.MEMORY", memory)), 2, 2, 1, []string{"bounds"})
		got := diag.Code(0)
		if fs := r.Findings(); len(fs) > 0 {
			got = fs[0].Code
		}
		if got != c.code {
			t.Errorf("k(%s, %s): %s, want %s%s", c.first, c.second, got, c.code, reasons(r))
		}
	}
}

// allocations are those of the window buffers that a text names.
func allocations(text string) string {
	out := ""
	for _, name := range []string{"data", "more"} {
		if strings.Contains(text, name) {
			out += "    " + name + " = pld.alloc_window_buffer([2, 8], dtype=pl.FP32)\n"
		}
	}
	return out
}

// Offsets at the end of the integers lie outside, and so do devices that no rank is: both are said, and nothing breaks.
func TestWhatIsFarOutsideIsOutside(t *testing.T) {
	for _, body := range []string{"    pld.notify(signal, (me + 1) % n, [9223372036854775807, 0], 1)\n", "    pl.store(pl.load(x, [0, 0], [1, 64]), [9223372036854775807, 0], data)\n",
		"    pl.store(pl.load(x, [0, 9223372036854775800], [1, 64]), [0, 0], y)\n"} {
		u, err := Source(source.NewFile("test.pl", around(body)), Options{})
		if err != nil {
			continue // the checker has seen it
		}
		if r := reportOf(t, u, 2, 2, 1, []string{"bounds"}); r.Status() != verify.Counterexample {
			t.Errorf("%s%s", body, reasons(r))
		}
	}
	far := strings.NewReplacer("in pl.range(pld.world_size()):", "in pl.range(3):", "x[r], y[r]", "x[0], y[0]").
		Replace(around("    pld.notify(signal, (me + 1) % n, [0, 0], 1)\n    pld.wait(signal, [0, 0], 1)\n    pld.wait(signal, [0, 0], 1)\n"))
	r := reportOf(t, unit(t, far), 2, 2, 1, []string{"bounds", "signals", "order", "cores"})
	if fs := r.Findings(); len(fs) != 1 || fs[0].Code != diag.NoSuchPeer || strings.Contains(reasons(r), "internal") {
		t.Errorf("a call for device 2 of 2%s", reasons(r))
	}
}
