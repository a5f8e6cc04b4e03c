package stdlib_test

import (
	"context"
	"os"
	"testing"
	"time"

	"ptoc/codegen/cpp"
	"ptoc/codegen/toolchain"
	"ptoc/ir"
	"ptoc/runtime/controller"
	"ptoc/runtime/failure"
	"ptoc/runtime/native"
)

func TestMain(m *testing.M) {
	native.MaybeWorker()
	os.Exit(m.Run())
}

// The same programs, compiled. One kernel serves all rank counts and lengths: both are known only when
// it runs.
func TestCollectivesCompiled(t *testing.T) {
	tc, err := toolchain.Open()
	if err != nil {
		t.Skip("no C++ compiler")
	}
	engine, err := native.Build(context.Background(), tc, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range compiledCalls() {
		c.ranks = 2 // for the root of a broadcast
		t.Run(c.String(), func(t *testing.T) {
			m := lower(t, c.text())
			obj := compile(t, tc, m)
			for _, c.ranks = range rankCounts {
				if c.op == "broadcast" && c.ranks < 2 {
					continue // the root is written in the program
				}
				b, err := controller.NewNative(native.Config{Ranks: c.ranks, EnginePath: engine, Timeout: 20 * time.Second}, obj)
				if err != nil {
					t.Fatal(err)
				}
				for _, c.n = range lengths {
					c.run(t, m, b, uint64(c.n))
				}
				b.Close()
			}
		})
	}
}

// Messages from 4 MiB on are stored past the caches, and fenced before they are announced.
func TestLargeMessagesStream(t *testing.T) {
	tc, err := toolchain.Open()
	if err != nil {
		t.Skip("no C++ compiler")
	}
	engine, err := native.Build(context.Background(), tc, "")
	if err != nil {
		t.Fatal(err)
	}
	c := call{op: "allreduce", mode: "auto", reduce: "Sum", dtype: ir.FP16, n: 2<<20 + 33}
	m := lower(t, c.text())
	streams := 0
	m.Func("step").Walk(func(op *ir.Op) {
		if op.Bool("stream") {
			streams++
		}
	})
	if streams == 0 {
		t.Error("nothing streams")
	}
	obj := compile(t, tc, m)
	for _, c.ranks = range []int{2, 3} {
		b, err := controller.NewNative(native.Config{Ranks: c.ranks, EnginePath: engine, Timeout: 20 * time.Second}, obj)
		if err != nil {
			t.Fatal(err)
		}
		c.run(t, m, b, 1)
		b.Close()
	}
}

func compiledCalls() []call {
	var out []call
	for _, mode := range []string{"auto", "central", "oneshot", "push", "ring"} {
		out = append(out, call{op: "allreduce", mode: mode, reduce: "Sum", dtype: ir.FP32})
	}
	for _, mode := range []string{"auto", "ring"} {
		for i, dt := range dtypes {
			out = append(out, call{op: "allreduce", mode: mode, reduce: reductions[(i+1)%4], dtype: dt},
				call{op: "allreduce", mode: mode, reduce: reductions[(i+2)%4], dtype: dt})
		}
	}
	for i, dt := range dtypes {
		out = append(out, call{op: "reduce_scatter", reduce: reductions[i], dtype: dt})
	}
	for _, op := range []string{"barrier", "broadcast", "allgather", "all_to_all"} {
		out = append(out, call{op: op, dtype: ir.FP16})
	}
	return append(out, call{op: "allreduce", mode: "auto", reduce: "Sum", dtype: ir.FP32, host: true})
}

// compile makes machine code of m's kernels.
func compile(t *testing.T, tc *toolchain.Toolchain, m *ir.Module) controller.Object {
	t.Helper()
	gen, err := cpp.Generate(m)
	if err != nil {
		t.Fatal(err)
	}
	obj := controller.Object{Syms: map[string][]string{}}
	for _, s := range gen.Sites {
		obj.Sites = append(obj.Sites, failure.Place{Span: s.Span, Op: s.Op})
	}
	for _, k := range gen.Kernels {
		obj.Syms[k.Name] = k.Syms
	}
	res, err := tc.Compile(context.Background(), toolchain.Unit{Name: "collective.cpp", Source: gen.Text}, toolchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	obj.Path = res.Path
	return obj
}
