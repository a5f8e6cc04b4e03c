package ptxrun

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"

	"ptoc/codegen/ptx"
	"ptoc/ir"
	"ptoc/runtime/controller"
	"ptoc/runtime/sim"
	"ptoc/tests/products"
)

// In the loop of the product that gpu-check measures, shared memory sees the operands only: each turn their tiles are
// copied there, and their fragments read, each row of a matrix from banks of its own.
func TestTheMeasuredProductAddsUpInRegisters(t *testing.T) {
	text, err := os.ReadFile("../../runtime/gpucheck/programs/gemm.pl")
	if err != nil {
		t.Fatal(err)
	}
	run := func(turns int) *Backend {
		program := strings.NewReplacer("DTYPE", "BF16", "K = 64", fmt.Sprintf("K = %d", 32*turns)).Replace(string(text))
		b := backend(t, lowered(t, program, true), Config{Races: true})
		if _, err := (product{dtype: "BF16", rows: 64, cols: 64, deep: 32}).run(b, 0); err != nil {
			t.Fatal(err)
		}
		return b
	}
	few, many := run(4).Stats, run(8).Stats
	const tiles, products = (64 + 64) * 32 * 2, 64 / 16 * 64 / 8 * 32 / 16
	if got := many.Written - few.Written; got != 4*tiles {
		t.Errorf("4 turns write %d bytes, their tiles have %d", got, 4*tiles)
	}
	if many.Conflicts != 0 {
		t.Errorf("%d times rows of a matrix meet in one bank", many.Conflicts)
	}
	const fragments = products*16*8*2 + products/4*16*16*2 // a fragment of A serves four products
	if got := many.Read - few.Read; got != 4*fragments {
		t.Errorf("4 turns read %d bytes, the fragments of their products have %d", got, 4*fragments)
	}
}

// Random sums of products are the simulator's; and where rounding depends on the order of additions they are, bit
// by bit, those of the same program whose accumulator lies in memory, because others read it.
func TestSumsInRegistersAreThoseInMemory(t *testing.T) {
	n := int64(24)
	if testing.Short() {
		n = 10
	}
	exact, rounded := make([]float32, 23), make([]float32, 1009)
	for i := range exact {
		exact[i] = float32(i)/8 - 1
	}
	r := rand.New(rand.NewSource(1))
	for i := range rounded {
		rounded[i] = 2*r.Float32() - 1
	}
	less := 0
	for seed := range n {
		r := rand.New(rand.NewSource(seed))
		program := products.Accumulate(r)
		turns, tf32 := []int64{0, 1, 33, 64, 80, 100, 112}[r.Intn(7)], r.Intn(2) == 0
		config := Config{Options: ptx.Options{TF32: tf32}, Races: true, Seed: uint64(seed), StepLimit: 1e9}
		m := lowered(t, program.Text, true)
		s, err := controller.NewSim(sim.Config{Ranks: 1})
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := program.Run(s, m, exact, turns)
		b := backend(t, m, config)
		got, err := program.Run(b, m, exact, turns)
		if !sameFault(err, wantErr) || err == nil && !bytes.Equal(got, want) {
			t.Fatalf("seed %d, n = %d: %v, the simulator says %v\n%s\n%s", seed, turns, err, wantErr, program.Text, ir.Print(m))
		}
		if err != nil {
			continue
		}
		before := b.Stats.Written
		watched := lowered(t, program.Watched, true)
		for _, host := range []bool{false, true} {
			if host && tf32 {
				continue // machine code for the CPU does not have it
			}
			config.Races, config.Host = !host, host
			var results [2][]byte
			for i, m := range []*ir.Module{m, watched} {
				b := backend(t, m, config)
				if results[i], err = program.Run(b, m, rounded, turns); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if i == 1 && !host && before < b.Stats.Written {
					less++
				}
			}
			if !bytes.Equal(results[0], results[1]) {
				t.Fatalf("seed %d, n = %d, host = %v: another result than in memory\n%s\n%s", seed, turns, host, program.Watched, ir.Print(m))
			}
		}
	}
	if t.Logf("%d of %d", less, n); less < int(n)/4 {
		t.Errorf("only %d of %d programs write less to shared memory when nobody else reads the accumulator", less, n)
	}
}
