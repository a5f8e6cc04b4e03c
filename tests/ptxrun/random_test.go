package ptxrun

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/codegen/lower"
	"ptoc/codegen/ptx"
	"ptoc/ir"
	"ptoc/ir/irtest"
	"ptoc/passes"
	"ptoc/runtime/controller"
	"ptoc/runtime/failure"
	"ptoc/runtime/sim"
	"ptoc/tests/ptxsim"
)

// step runs the kernel "step" of a random module on one rank and gives what it wrote.
func step(m *ir.Module, b controller.Backend) ([]byte, error) {
	const rows, cols = 8, 64
	k, err := b.Kernel(m.Func("step"))
	if err != nil {
		return nil, err
	}
	domain, err := b.Domain([]int{0})
	if err != nil {
		return nil, err
	}
	data, _ := b.AllocWindow("data", 4*cols*4)
	sig, _ := b.AllocWindow("sig", rows*4)
	x, _ := b.Alloc("x", 4*cols*4)
	y, _ := b.Alloc("y", rows*cols*4)
	for i := 0; i < len(x.Data)/4; i++ {
		v := math.Float32bits(float32(i%37)/8 - 2)
		binary.LittleEndian.PutUint32(x.Data[4*i:], v)
		binary.LittleEndian.PutUint32(b.Window(0, data, 4*cols*4)[4*i:], v)
	}
	args := []abi.Arg{{Tag: abi.TagHeap, Value: x.Addr}, {Tag: abi.TagHeap, Value: y.Addr},
		{Tag: abi.TagDomain, Value: int64(domain)}, {Value: data}, {Tag: abi.TagDomain, Value: int64(domain)}, {Value: sig}, {Value: 3}}
	for range k.Syms {
		args = append(args, abi.Arg{Value: rows})
	}
	if err := b.Dispatch(0, k, args); err != nil {
		return nil, err
	}
	if err := b.Wait(context.Background()); err != nil {
		return nil, err
	}
	out := append([]byte(nil), y.Data...)
	out = append(out, b.Window(0, data, 4*cols*4)...)
	return append(out, b.Window(0, sig, rows*4)...), nil
}

// Random kernels, with every kind of control flow, write the same on PTX as on the simulator, or fail with
// the same fault at the same place.
func TestRandomKernels(t *testing.T) {
	n := uint64(150)
	if testing.Short() {
		n = 30
	}
	ran := 0
	for seed := range n {
		m := irtest.Runnable(seed, 5+int(seed%70))
		if passes.Run(m, passes.Options{Target: "cuda", ReproducerDir: t.TempDir()}).HasErrors() {
			continue
		}
		s, err := controller.NewSim(sim.Config{Ranks: 1, StepLimit: 200_000})
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := step(m, s)
		b, err := New(m, 1, Config{Races: true, StepLimit: 1e8, Seed: seed, Blocks: 1})
		if errors.Is(err, ErrMissing) {
			t.Skip(err)
		}
		var refused *lower.Error
		if errors.As(err, &refused) {
			t.Logf("seed %d: %v", seed, err)
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, ir.Print(m))
		}
		got, err := step(m, b)
		if !sameFault(err, wantErr) {
			t.Fatalf("seed %d: %v, the simulator says %v\n%s\n%s", seed, err, wantErr, ir.Print(m), b.Text)
		}
		if err == nil {
			ran++
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("seed %d: byte %d differs\n%s\n%s", seed, i, ir.Print(m), b.Text)
			}
		}
	}
	t.Logf("%d of %d ran to their end", ran, n)
}

// Blocks of a grid write the same as one block, where the random kernel lets them: where no two of them race, and
// no fault ends the one while another goes on.
func TestRandomKernelsAsGrids(t *testing.T) {
	n := uint64(150)
	if testing.Short() {
		n = 60
	}
	ran, raced := 0, 0
	for seed := range n {
		m := irtest.Runnable(seed, 5+int(seed%70))
		if passes.Run(m, passes.Options{Target: "cuda", ReproducerDir: t.TempDir()}).HasErrors() {
			continue
		}
		s, err := controller.NewSim(sim.Config{Ranks: 1, StepLimit: 200_000})
		if err != nil {
			t.Fatal(err)
		}
		b, err := New(m, 1, Config{Races: true, StepLimit: 1e8, Seed: seed + 1})
		var refused *lower.Error
		switch {
		case errors.Is(err, ErrMissing):
			t.Skip(err)
		case errors.As(err, &refused):
			continue
		case err != nil:
			t.Fatalf("seed %d: %v\n%s", seed, err, ir.Print(m))
		case !b.usesGrids():
			continue
		}
		want, wantErr := step(m, s)
		got, err := step(m, b)
		var program *ptxsim.Error
		if errors.As(err, &program) && strings.Contains(err.Error(), "race on global memory") {
			raced++
			continue
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("seed %d: %v, the simulator says %v\n%s\n%s", seed, err, wantErr, ir.Print(m), b.Text)
		}
		if err != nil {
			continue
		}
		ran++
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("seed %d: byte %d differs\n%s\n%s", seed, i, ir.Print(m), b.Text)
			}
		}
	}
	t.Logf("%d ran to their end, in %d blocks race", ran, raced)
	if ran == 0 {
		t.Error("no kernel ran")
	}
}

func (b *Backend) usesGrids() bool {
	return slices.ContainsFunc(b.out.Kernels, func(k ptx.Kernel) bool { return k.Grid })
}

func sameFault(a, b error) bool {
	var f, g *failure.Failure
	if !errors.As(a, &f) || !errors.As(b, &g) {
		return a == nil && b == nil
	}
	x, y := f.Ranks[0], g.Ranks[0]
	return x.Code == y.Code && x.V == y.V && x.At.Span == y.At.Span
}
