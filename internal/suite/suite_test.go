package suite

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestRanksAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string][]int{"4": {4}, "2..4": {2, 3, 4}, "1 2 8": {1, 2, 8}, "1, 3..4": {1, 3, 4}} {
		if got, err := ParseRanks(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "3..2", "65", "x", "2..", "-1"} {
		if got, err := ParseRanks(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestWhatAProgramSaysStandsBeforeItsCode(t *testing.T) {
	h, err := headerOf("# ranks: 2..3\n#define: N=8 M=2\n\n# repeats: 2\nNR = 1\n# ranks: 8\n")
	if err != nil || !slices.Equal(h.ranks, []int{2, 3}) || h.repeats != 2 || h.defines["N"] != "8" || h.defines["M"] != "2" {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := headerOf("# ranks: many\n"); err == nil || !strings.Contains(err.Error(), "# ranks: many: want numbers of ranks") {
		t.Errorf("%v", err)
	}
}

func TestInputsAreGivenToWhatTakesThem(t *testing.T) {
	const program = `@pl.jit.incore
def fill(k: pl.Scalar[pl.FP32], y: pl.Out[pl.Tensor[[4], pl.FP32]]):
    y[:] = pl.full([4], pl.FP32, k)

@pl.jit.host
def scaled(k: pl.Scalar[pl.FP32], y: pl.Out[pl.Tensor[[4], pl.FP32]]):
    fill(k, y, device=0)

@pl.golden(of=scaled)
def one(k, y):
    y[:] = pl.full([4], pl.FP32, 2.5)

@pl.jit.host
def plain(y: pl.Out[pl.Tensor[[4], pl.FP32]]):
    fill(1.0, y, device=0)

@pl.golden(of=plain)
def two(y):
    y[:] = pl.full([4], pl.FP32, 1.0)
`
	for _, c := range []struct{ line, flag, want string }{
		{"", "", "E0702 passed"},
		{"", "k=2.5", "passed passed"},
		{"# in: k=2.5", "", "passed passed"},
		{"# in: k=1", "", "E0730 passed"},
		{"# in: k=1", "k=2.5", "passed passed"},
		{"# in: k=2.5", "q=1", "passed passed"}, // the command line speaks to all programs
		{"# in: q=1", "", "# in: no function of this program has a parameter q"},
		{"# in: k", "", "# in: k: want NAME=SPEC, got \"k\""},
	} {
		line, want := c.line, c.want
		o := Options{Backends: []string{"sim"}, Ranks: []int{1}, Match: regexp.MustCompile("golden|compile")}
		if c.flag != "" {
			o.Inputs = []string{c.flag}
		}
		r, err := Run(t.Context(), []string{write(t, line+"\n"+program)}, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range r.Tests {
			what := string(x.Status)
			if x.Status == Failed {
				what = x.Detail
			}
			for _, code := range []string{"E0702", "E0730"} {
				if strings.HasPrefix(x.Detail, code) {
					what = code
				}
			}
			got = append(got, what)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

const two = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(x: pl.InOut[pl.Tensor[[4], pl.FP32]]):
    x[:] = x[:] + 1.0

@pl.jit.host
def once(x: pl.InOut[pl.Tensor[[NR, 4], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        step(x[r], device=r)

@pl.golden(of=once)
def one(x):
    x[:, :] = x + 1.0

@pl.jit.host
def twice(x: pl.InOut[pl.Tensor[[NR, 4], pl.FP32]]):
    for k in pl.range(2):
        for r in pl.range(pld.world_size()):
            step(x[r], device=r)

@pl.golden(of=twice)
def two(x):
    x[:, :] = x + 2.0

@pl.golden(of=step)
def other(x):
    x[:] = x + 1.0
`

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "p.pl")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestEveryGoldenAndEveryHostFunctionIsTested(t *testing.T) {
	r, err := Run(t.Context(), []string{write(t, two)}, Options{Backends: []string{"sim"}, Ranks: []int{2}, Jobs: 3, Layers: []string{"bounds", "order"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range r.Tests {
		got = append(got, x.What+": "+string(x.Status))
	}
	want := "golden one, sim: passed\ngolden two, sim: passed\ngolden other, sim: skipped\nverify once: passed\nverify twice: passed"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

func TestTestsEndWhereTheirContextDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	name := write(t, two)
	started := 0
	_, err := Run(ctx, []string{name}, Options{Backends: []string{"sim"}, Progress: func(int, int, string) {
		started++
		cancel()
	}})
	if err != context.Canceled || started != 1 {
		t.Errorf("%v after %d tests", err, started)
	}
}
