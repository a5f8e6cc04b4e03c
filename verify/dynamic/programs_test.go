package dynamic

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/verify"
	"ptoc/verify/load"
)

func fromText(t *testing.T, text string) *load.Unit {
	t.Helper()
	u, err := load.Source(source.NewFile("test.pl", text), load.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return u
}

func verdict(t *testing.T, text string, ranks, repeats int, in Inputs) *verify.Report {
	t.Helper()
	Register(in)
	defer Register(nil)
	return check(t, fromText(t, text), ranks, repeats, layers)
}

func hasCode(r *verify.Report, code diag.Code) bool {
	for _, f := range r.Findings() {
		if f.Code == code && f.Severity == diag.Error {
			return true
		}
	}
	return false
}

// A mixture of experts: 128 tokens to 6 of 16 experts each, on 4 ranks. Who sends what to whom is data.
func TestAMixtureOfExpertsIsProvedAndItsFaultsAreFound(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "tests", "programs", "moe.pl"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if testing.Short() {
		text = strings.Replace(text, "TOKENS = 128", "TOKENS = 16", 1)
	}
	in := Inputs{"expert=ints:0..15"}
	begin := time.Now()
	if r := verdict(t, text, 4, 2, in); r.Status() != verify.Proved {
		t.Errorf("%s", reasons(r))
	}
	t.Logf("4 ranks, 2 repeats: %v", time.Since(begin).Round(time.Millisecond))
	for what, change := range map[string][2]string{
		"rows are fetched before the experts": {"    meet(signal, 2)\n", "    meet(signal, 1)\n"},
		"rows are sent without a notify":      {"        pld.notify(signal, (me + i) % n, [me, 0], 1)\n", "        pld.notify(signal, (me + i) % n, [(me + 1) % n, 0], 1)\n"},
		"rows are put over each other":        {"used[owner] = slot + 1", "used[owner] = slot + k % 2"},
	} {
		small := strings.Replace(strings.Replace(text, "TOKENS = 128", "TOKENS = 16", 1), change[0], change[1], 1)
		if r := verdict(t, small, 4, 2, in); r.Status() != verify.Counterexample {
			t.Errorf("%s: not found%s", what, reasons(r))
		}
	}
}

const pollProgram = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[1, 1], pl.INT32]], flag: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(flag))
    if me == 0:
        pld.notify(flag, 1, [0, 0], 1)
    else:
        seen = flag[0, 0]
        while seen == 0:
            seen = flag[0, 0]
        pl.write(y, [0, 0], seen)

@pl.jit.host
def main(y: pl.Out[pl.Tensor[[NR, 1, 1], pl.INT32]]):
    flag = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
    for r in pl.range(2):
        step(y[r], pld.window(flag, [1, 1], dtype=pl.INT32), device=r)
`

func TestAProgramThatPollsIsNotCalledProved(t *testing.T) {
	begin := time.Now()
	r := verdict(t, pollProgram, 2, 1, nil)
	if r.Status() != verify.NotChecked {
		t.Errorf("%s%s", r.Status(), reasons(r))
	}
	t.Logf("%v%s", time.Since(begin), reasons(r))
}

func TestWhatThePutsOfOneRankDoToOnePlaceIsOrderedOnlyByANotifyOrAFence(t *testing.T) {
	const program = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
         signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
    me = pld.rank(pld.get_comm_ctx(data))
    if me == 0:
        pld.put(data, 1, x)
        BETWEEN
        pld.put(data, 1, x)
        pld.notify(signal, 1, [0, 0], 1)
    else:
        pld.wait(signal, [0, 0], 1)
        pl.store(pl.load(data, [0, 0], [1, 8]), [0, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    signal = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
    for r in pl.range(2):
        step(x[r], pld.window(data, [1, 8], dtype=pl.FP32), pld.window(signal, [NR, 1], dtype=pl.INT32), y[r], device=r)
`
	if r := verdict(t, strings.Replace(program, "BETWEEN", "pl.fence()", 1), 2, 1, nil); errorsIn(r) {
		t.Errorf("with a fence:%s", reasons(r))
	}
	if r := verdict(t, strings.Replace(program, "BETWEEN", "pl.create_tensor([1], pl.FP32)", 1), 2, 1, nil); !hasCode(r, diag.DataRace) {
		t.Errorf("without:%s", reasons(r))
	}
}

func TestTheHostOrdersWhatItWaitsFor(t *testing.T) {
	const program = `NR = pl.dynamic("NR")

@pl.jit.incore
def send(x: pl.Tensor[[1, 8], pl.FP32], data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]], y: pl.Out[pl.Tensor[[1, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(data))
    pld.put(data, 1 - me, x)
    pl.write(y, [0, 0], pl.const(1, pl.INT32))

@pl.jit.incore
def take(data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]], z: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
    pl.store(pl.load(data, [0, 0], [1, 8]), [0, 0], z)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 1], pl.INT32]], z: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    for r in pl.range(2):
        send(x[r], pld.window(data, [1, 8], dtype=pl.FP32), y[r], device=r)
    if HOST == 1:
        for r in pl.range(2):
            take(pld.window(data, [1, 8], dtype=pl.FP32), z[r], device=r)
`
	if r := verdict(t, strings.Replace(program, "HOST", "pl.read(y, [0, 0, 0])", 1), 2, 1, nil); errorsIn(r) {
		t.Errorf("the host reads in between:%s", reasons(r))
	}
	if r := verdict(t, strings.Replace(program, "HOST", "pld.world_size() // 2", 1), 2, 1, nil); !hasCode(r, diag.DataRace) {
		t.Errorf("nothing in between:%s", reasons(r))
	}
}

func TestWhatComesBeforeEitherOfTwoSignalsComesBeforeTheWaitForOne(t *testing.T) {
	u, _ := open(t, filepath.Join("..", "..", "tests", "programs", "either.pl"))
	if r := check(t, u, 4, 1, layers); r.Status() != verify.Proved {
		t.Errorf("%s", reasons(r))
	}
}

// Whether a number decides as an integer or as an answer to a comparison: the layers that run the program say that they saw one
// choice of inputs only.
func TestAnAnswerThatRestsOnItsInputsSaysSo(t *testing.T) {
	for _, cond := range []string{"pl.read(x, [0, 0]) > 1000.0", "pl.cast(pl.read(x, [0, 0]), pl.INDEX) == 1000", "me == 1000"} {
		r := verdict(t, `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(signal))
    if `+cond+`:
        pld.wait(signal, [0, 0], 1)
    pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    signal = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], pld.window(signal, [1, 1], dtype=pl.INT32), device=r)
`, 2, 1, nil)
		for _, v := range r.Verdicts {
			if v.Status != verify.Proved || strings.Contains(v.Given, "given inputs") != strings.Contains(cond, "read") {
				t.Errorf("if %s: %s is %s, given %q", cond, v.Layer, v.Status, v.Given)
			}
		}
	}
}

// A wait for a flag to be down comes after the notify that takes it down, and after all that this releases.
func TestAWaitForAFlagToBeTakenDownOrders(t *testing.T) {
	text := `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
         data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]], flag: pl.InOut[pld.DistributedTensor[[1, 2], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(flag))
    n = pld.nranks(pld.get_comm_ctx(flag))
    right = (me + 1) % n
    left = (me + n - 1) % n
    pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], data)
    pld.notify(flag, me, [0, 0], 1)
    pld.notify(flag, right, [0, 1], 1)
    pld.wait(flag, [0, 1], 1)
    pld.notify(flag, me, [0, 1], -1)
    pl.store(pld.remote_load(data, left, [0, 0], [1, 8]), [0, 0], y)
    pld.notify(flag, left, [0, 0], -1)
    pld.wait(flag, [0, 0], 0, cmp=pld.WaitCmp.Eq)
    pl.store(pl.load(x, [0, 0], [1, 8]) * 2.0, [0, 0], data)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    flag = pld.alloc_window_buffer([1, 2], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(x[r], y[r], pld.window(data, [1, 8], dtype=pl.FP32), pld.window(flag, [1, 2], dtype=pl.INT32), device=r)
`
	if r := verdict(t, text, 3, 2, nil); r.Status() != verify.Proved {
		t.Errorf("with the wait: %s", r.Status())
	}
	without := strings.Replace(text, "    pld.wait(flag, [0, 0], 0, cmp=pld.WaitCmp.Eq)\n", "", 1)
	if r := verdict(t, without, 3, 2, nil); !hasCode(r, diag.DataRace) {
		t.Errorf("without the wait: %s", r.Status())
	}
}

// A factor that nobody gives is not 0: that would hide what it multiplies.
func TestAFactorThatIsForgottenIsFound(t *testing.T) {
	const program = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.Tensor[[1, 8], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]], factor: pl.Scalar[pl.FP32]):
    pl.store(pl.load(x, [0, 0], [1, 8]) * factor, [0, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[NR, 1, 8], pl.FP32], y: pl.Out[pl.Tensor[[NR, 1, 8], pl.FP32]], factor: pl.Scalar[pl.FP32]):
    for r in pl.range(NR):
        step(x[r], y[r], factor, device=r)

@pl.golden(of=main)
def expected(x, y, factor):
    for r in pl.range(NR):
        y[r] = x[r] * FACTOR
`
	for factor, want := range map[string]verify.Status{"factor": verify.Proved, "factor * factor": verify.Counterexample, "0.0": verify.Counterexample} {
		r := check(t, fromText(t, strings.ReplaceAll(program, "FACTOR", factor)), 2, 1, []string{"memory"})
		if r.Status() != want {
			t.Errorf("%s: %s%s", factor, r.Status(), reasons(r))
		}
	}
}
