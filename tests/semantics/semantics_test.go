// Package semantics tests that passes do not change what programs compute: random kernels run on the
// simulator after every pass of the pipeline and must give the same bits as after the first one,
// InlineFunctions (the simulator runs no inline functions).
package semantics

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/ir/irtest"
	"ptoc/lang/diag"
	"ptoc/passes"
	"ptoc/runtime/sim"
)

const rows, cols = 8, 64

// outputs runs the kernel "step" of a runnable module on one rank and gives what it wrote.
func outputs(m *ir.Module) ([]byte, error) {
	machine, err := sim.New(sim.Config{Ranks: 1, StepLimit: 200_000})
	if err != nil {
		return nil, err
	}
	code, err := machine.Compile(m.Func("step"))
	if err != nil {
		return nil, err
	}
	domain, err := machine.Domain([]int{0})
	if err != nil {
		return nil, err
	}
	data, _ := machine.AllocWindow("data", 4*cols*4)
	sig, _ := machine.AllocWindow("sig", rows*4)
	x, y := make([]byte, 4*cols*4), make([]byte, rows*cols*4)
	for i := 0; i < len(x)/4; i++ {
		v := math.Float32bits(float32(i%37)/8 - 2)
		binary.LittleEndian.PutUint32(x[4*i:], v)
		binary.LittleEndian.PutUint32(machine.Window(0, data, 4*cols*4)[4*i:], v)
	}
	args := []abi.Arg{{Tag: abi.TagHeap, Value: machine.AddHeap("x", x)}, {Tag: abi.TagHeap, Value: machine.AddHeap("y", y)},
		{Tag: abi.TagDomain, Value: int64(domain)}, {Value: data}, {Tag: abi.TagDomain, Value: int64(domain)}, {Value: sig}, {Value: 3}}
	for range code.Syms {
		args = append(args, abi.Arg{Value: rows})
	}
	if err := machine.Submit(0, code, args); err != nil {
		return nil, err
	}
	if err := machine.Run(context.Background()); err != nil {
		return nil, err
	}
	out := append([]byte(nil), y...)
	out = append(out, machine.Window(0, data, 4*cols*4)...)
	return append(out, machine.Window(0, sig, rows*4)...), nil
}

// check compares every stage of the pipeline with the first. It reports whether the kernel ran.
func check(t *testing.T, seed uint64, m *ir.Module) bool {
	t.Helper()
	source := ir.Print(m)
	var want []byte
	failed := false
	compare := func(pass string, m *ir.Module) {
		if failed {
			return
		}
		got, err := outputs(m)
		switch {
		case want == nil && err != nil:
			failed = true
		case want == nil:
			want = got
		case err != nil:
			failed = true
			t.Errorf("seed %d: after %s it fails: %v\n%s\n%s", seed, pass, err, source, ir.Print(m))
		case !bytes.Equal(got, want):
			failed = true
			i := 0
			for got[i] == want[i] {
				i++
			}
			t.Errorf("seed %d: after %s byte %d differs\n%s\n%s", seed, pass, i, source, ir.Print(m))
		}
	}
	prefix := passes.Options{VerifyEach: true, ReproducerDir: t.TempDir()}
	for _, p := range passes.Passes() {
		prefix.Passes = []string{p.Name}
		if list := passes.Run(m, prefix); list.HasErrors() {
			if list.Sorted()[0].Code == diag.Internal {
				t.Errorf("seed %d: %v\n%s", seed, list, source)
			}
			return false
		}
		compare(p.Name, m)
	}
	return !failed
}

func TestPassesKeepWhatKernelsCompute(t *testing.T) {
	n, ran := uint64(200), 0
	if testing.Short() {
		n = 40
	}
	for seed := uint64(0); seed < n && !t.Failed(); seed++ {
		if check(t, seed, irtest.Runnable(seed, 5+int(seed%70))) {
			ran++
		}
	}
	if !t.Failed() && ran < int(n)/2 {
		t.Errorf("only %d of %d kernels ran to their end", ran, n)
	}
	t.Logf("%d of %d kernels ran to their end", ran, n)
}

func FuzzPasses(f *testing.F) {
	f.Add(uint64(1), uint16(40))
	f.Add(uint64(99), uint16(90))
	f.Fuzz(func(t *testing.T, seed uint64, size uint16) { check(t, seed, irtest.Runnable(seed, int(size%120))) })
}
