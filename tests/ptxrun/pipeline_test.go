package ptxrun

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/controller"
	"ptoc/runtime/sim"
	"ptoc/tests/products"
)

// product is a kernel that multiplies by tiles: a loop over inner.
type product struct {
	dtype            string
	rows, cols, deep int // of a tile of A and B
	loop             string
}

const maxTurns = 9

func (p product) text() string {
	return fmt.Sprintf(`import ptoc.language as pl

@pl.jit.incore
def multiply(a: pl.Tensor[[%[2]d, %[5]d], pl.%[1]s], b: pl.Tensor[[%[5]d, %[4]d], pl.%[1]s],
             c: pl.Out[pl.Tensor[[%[2]d, %[4]d], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    acc = pl.full([%[2]d, %[4]d], pl.FP32, 0.5)
    for k in %[6]s:
        acc = pl.matmul_acc(acc, pl.load(a, [0, k], [%[2]d, %[3]d]), pl.load(b, [k, 0], [%[3]d, %[4]d]))
    return pl.store(acc, [0, 0], c)
`, p.dtype, p.rows, p.deep, p.cols, p.deep*maxTurns, p.loop)
}

// lowered runs the passes for GPUs, with PipelineLoads or without.
func lowered(t *testing.T, text string, pipelined bool) *ir.Module {
	t.Helper()
	m, err := products.Lower(text, pipelined)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func backend(t *testing.T, m *ir.Module, cfg Config) *Backend {
	t.Helper()
	b, err := New(m, 1, cfg)
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// run multiplies n turns' tiles and gives the bytes of c.
func (p product) run(b *Backend, n int) ([]byte, error) {
	k, err := b.Kernel(b.out.Kernels[0].Func)
	if err != nil {
		return nil, err
	}
	half := func(x float32) (out []byte) {
		return binary.LittleEndian.AppendUint16(nil, uint16(math.Float32bits(x)>>16))
	}
	number := map[string]func(float32) []byte{"BF16": half, "FP32": func(x float32) []byte {
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(x+x/4096))
	}}[p.dtype]
	fill := func(name string, count, by int) int64 {
		var data []byte
		for i := range count {
			data = append(data, number(float32(i*by%31)/8-2)...)
		}
		m, _ := b.Alloc(name, int64(len(data)))
		copy(m.Data, data)
		return m.Addr
	}
	c, _ := b.Alloc("c", int64(4*p.rows*p.cols))
	heap := func(at int64) abi.Arg { return abi.Arg{Tag: abi.TagHeap, Value: at} }
	args := []abi.Arg{heap(fill("a", p.rows*p.deep*maxTurns, 7)), heap(fill("b", p.cols*p.deep*maxTurns, 11)), heap(c.Addr), {Value: int64(n)}}
	if err := b.Dispatch(0, k, args); err != nil {
		return nil, err
	}
	err = b.Wait(context.Background())
	return c.Data, err
}

var sizes = []product{
	{dtype: "BF16", rows: 32, deep: 16, cols: 16}, // mma.sync fed by cp.async
	{dtype: "FP32", rows: 12, deep: 8, cols: 20},  // cp.async
	{dtype: "FP32", rows: 7, deep: 5, cols: 9},    // neither
}

var turnCounts = []int{0, 1, 2, 3, 4, 5, 8}

// Loads that run ahead change no bit, whatever the number of turns and places: known before or not.
func TestLoadsAheadChangeNoBit(t *testing.T) {
	for _, p := range sizes {
		p.loop = fmt.Sprintf("pl.range(0, n * %d, %d)", p.deep, p.deep)
		plain := backend(t, lowered(t, p.text(), false), Config{Races: true})
		want := map[int][]byte{}
		for _, n := range turnCounts {
			got, err := p.run(plain, n)
			if err != nil {
				t.Fatal(err)
			}
			want[n] = got
		}
		same := func(kind string, n int, b *Backend) {
			t.Helper()
			if got, err := p.run(b, n); err != nil {
				t.Errorf("%s, %d turns: %v", kind, n, err)
			} else if !bytes.Equal(got, want[n]) {
				t.Errorf("%s, %d turns: another result", kind, n)
			}
		}
		for _, stages := range []int{1, 3, 4} {
			loop := func(stop string) string {
				if stages == 1 {
					return fmt.Sprintf("pl.range(0, %s, %d)", stop, p.deep)
				}
				return fmt.Sprintf("pl.pipeline(0, %s, %d, stage=%d)", stop, p.deep, stages)
			}
			p.loop = loop(fmt.Sprintf("n * %d", p.deep))
			m := lowered(t, p.text(), true)
			if !strings.Contains(ir.Print(m), "pl.pipeline(0, ") {
				t.Errorf("%s: it is left alone\n%s", p.loop, ir.Print(m))
			}
			b, h := backend(t, m, Config{Races: true, Seed: uint64(stages)}), backend(t, m, Config{Host: true})
			for _, n := range turnCounts {
				same(p.loop, n, b)
				same(p.loop+" as machine code", n, h)
			}
			for _, n := range turnCounts {
				p.loop = loop(fmt.Sprint(n * p.deep))
				same(p.loop, n, backend(t, lowered(t, p.text(), true), Config{Races: true}))
			}
		}
	}
}

// Random loops around products do on PTX what they do on the simulator.
func TestRandomLoopsAroundProducts(t *testing.T) {
	n := int64(60)
	if testing.Short() {
		n = 15
	}
	for seed := range n {
		r := rand.New(rand.NewSource(1000 + seed))
		text, turns := products.Loop(r), products.Turns(r)
		s, err := controller.NewSim(sim.Config{Ranks: 1})
		if err != nil {
			t.Fatal(err)
		}
		m := lowered(t, text, true)
		want, wantErr := products.Run(s, m, turns)
		b := backend(t, m, Config{Races: true, Seed: uint64(seed), StepLimit: 1e8})
		got, err := products.Run(b, m, turns)
		if !sameFault(err, wantErr) || err == nil && !bytes.Equal(got, want) {
			t.Fatalf("seed %d, n = %d: %v, the simulator says %v\n%s\n%s", seed, turns, err, wantErr, text, b.Text)
		}
	}
}

// While a product runs, the next turn's tiles are on their way: in every turn but the last ones.
func TestProductsRunWhileCopiesAreInFlight(t *testing.T) {
	p := sizes[0]
	for stages := 2; stages <= 4; stages++ {
		for _, n := range []int{2, 3, 5, 8} {
			p.loop = fmt.Sprintf("pl.pipeline(0, %d, %d, stage=%d)", n*p.deep, p.deep, stages)
			b := backend(t, lowered(t, p.text(), true), Config{})
			if _, err := p.run(b, n); err != nil {
				t.Fatal(err)
			}
			turn := int64(p.rows / 16 * p.cols / 8 * p.deep / 16)
			if got := b.Stats; got.Products != turn*int64(n) || got.Ahead != turn*int64(n-1) {
				t.Errorf("%s: %d products of %d, %d with copies in flight", p.loop, got.Products, turn*int64(n), got.Ahead)
			}
		}
	}
	p.loop = fmt.Sprintf("pl.range(0, n * %d, %d)", p.deep, p.deep)
	for _, pipelined := range []bool{false, true} {
		b := backend(t, lowered(t, p.text(), pipelined), Config{})
		if _, err := p.run(b, 9); err != nil {
			t.Fatal(err)
		}
		if s := b.Stats; pipelined && s.Ahead*9 != s.Products*8 || !pipelined && s.Ahead != 0 {
			t.Errorf("pipelined = %v: %+v", pipelined, s)
		}
	}
}

// The product that gpu-check measures: of the four turns that make a tile of the result, three overlap.
func TestTheMeasuredProductRunsWhileCopiesAreInFlight(t *testing.T) {
	text, err := os.ReadFile("../../runtime/gpucheck/programs/gemm.pl")
	if err != nil {
		t.Fatal(err)
	}
	p := product{dtype: "BF16", rows: 128, cols: 128, deep: 16}
	program := strings.NewReplacer("DTYPE", p.dtype, "M = 64", "M = 128", "N = 64", "N = 128", "K = 64", "K = 128").Replace(string(text))
	var results [2][]byte
	for i := range results {
		b := backend(t, lowered(t, program, i == 1), Config{Races: true})
		if results[i], err = p.run(b, 0); err != nil {
			t.Fatal(err)
		}
		const products = 128 / 16 * 128 / 8 * 128 / 16
		if b.Stats.Products != products || b.Stats.Ahead != int64(i)*products/4*3 {
			t.Errorf("pipelined: %v, %+v", i == 1, b.Stats)
		}
	}
	if !bytes.Equal(results[0], results[1]) {
		t.Error("another result")
	}
}

// Around an inner loop that loads nothing, the next turn's tile is on its way all the time.
func TestCopiesStayInFlightAcrossAnInnerLoop(t *testing.T) {
	const n, inner = 5, 3
	text := strings.Replace(sizes[0].text(), "acc = pl.matmul_acc(acc, pl.load(a, [0, k], [32, 16]), pl.load(b, [k, 0], [16, 16]))",
		fmt.Sprintf("t = pl.load(a, [0, k], [32, 16])\n        for j in pl.range(%d):\n            acc = pl.matmul_acc(acc, t, right)", inner), 1)
	text = strings.Replace(text, "    for k", "    right = pl.load(b, [0, 0], [16, 16])\n    for k", 1)
	results := map[string][]byte{}
	for _, loop := range []string{"pl.range(0, n * 16, 16)", "pl.pipeline(0, n * 16, 16, stage=2)"} {
		b := backend(t, lowered(t, strings.Replace(text, "in :", "in "+loop+":", 1), true), Config{Races: true})
		out, err := sizes[0].run(b, n)
		if err != nil {
			t.Fatal(err)
		}
		results[loop] = out
		want := b.Stats.Products / n * (n - 1)
		if loop == "pl.range(0, n * 16, 16)" {
			want = 0
		}
		if b.Stats.Products != 4*inner*n || b.Stats.Ahead != want {
			t.Errorf("%s: %+v", loop, b.Stats)
		}
	}
	if !bytes.Equal(results["pl.range(0, n * 16, 16)"], results["pl.pipeline(0, n * 16, 16, stage=2)"]) {
		t.Error("another result")
	}
}

// Each wait for copies is needed, for as many groups as it waits for, and so is each barrier: they are left out or
// weakened one by one.
func TestOrderThatIsMissingAroundCopiesIsNoticed(t *testing.T) {
	p := sizes[0]
	p.loop = fmt.Sprintf("pl.pipeline(0, n * %d, %d, stage=3)", p.deep, p.deep)
	m := lowered(t, p.text(), true)
	text := backend(t, m, Config{}).Text
	waits, barriers := regexp.MustCompile(`cp\.async\.wait_group\s+\d+;`), regexp.MustCompile(`bar\.sync\s+0;`)
	leave := func(string) string { return "" }
	weaken := func(wait string) string {
		var keep int
		fmt.Sscanf(wait, "cp.async.wait_group %d", &keep)
		return fmt.Sprintf("cp.async.wait_group %d;", keep+1)
	}
	for _, mutant := range []struct {
		what    *regexp.Regexp
		by      func(string) string
		atLeast int
	}{{waits, leave, 4}, {waits, weaken, 4}, {barriers, leave, 4}} {
		all := mutant.what.FindAllStringIndex(text, -1)
		if len(all) < mutant.atLeast {
			t.Fatalf("%d of %s\n%s", len(all), mutant.what, text)
		}
		for i, at := range all {
			edited := text[:at[0]] + mutant.by(text[at[0]:at[1]]) + text[at[1]:]
			noticed := slices.ContainsFunc([]int{1, 3, 4, 5, 8}, func(n int) bool {
				_, err := p.run(backend(t, m, Config{Edit: func(string) string { return edited }}), n)
				return err != nil && (strings.Contains(err.Error(), "still writes it") || strings.Contains(err.Error(), "race on shared"))
			})
			if !noticed {
				t.Errorf("%d of %d: %s\n%s", i+1, len(all), text[at[0]:at[1]], text)
			}
		}
	}
}
