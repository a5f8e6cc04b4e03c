package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ptoc/codegen/cpp"
	"ptoc/codegen/toolchain"
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/runtime/failure"
	"ptoc/runtime/native"
	"ptoc/runtime/sim"
)

func TestMain(m *testing.M) {
	native.MaybeWorker()
	os.Exit(m.Run())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// exchange is built by hand, so that this test needs no front end: every rank stores x into its right
// neighbour's window, notifies a cell of it, waits for a cell of its own, and gives the sum.
func exchange(t testing.TB, notifyCell, waitCell int64) *ir.Module {
	text := source.NewFile("exchange.pl", "notify here\nwait here\n")
	f := ir.NewFunc("step", ir.InCore, text.Span(0, 0))
	row := []ir.Dim{ir.ConstDim(1), ir.ConstDim(64)}
	x := f.AddParam("x", &ir.Tensor{Dims: row, DType: ir.FP32}, ir.In)
	y := f.AddParam("y", &ir.Tensor{Dims: row, DType: ir.FP32}, ir.Out)
	data := f.AddParam("data", &ir.Tensor{Dims: row, DType: ir.FP32, Window: true}, ir.InOut)
	cells := []ir.Dim{ir.SymDim("NR"), ir.ConstDim(1)}
	sig := f.AddParam("sig", &ir.Tensor{Dims: cells, DType: ir.INT32, Window: true}, ir.InOut)
	b := ir.NewBuilder(f, f.Body)
	zeros := []*ir.Value{ir.Index(0), ir.Index(0)}
	shape := []*ir.Value{ir.Index(1), ir.Index(64)}
	ctx := b.Add(ir.GetCommCtx).Set("target", data).Must().Result()
	me := b.Add(ir.Rank).Set("ctx", ctx).Must().Result()
	n := b.Add(ir.NRanks).Set("ctx", ctx).Must().Result()
	next, err := b.Binary(ir.Add, me, ir.Index(1))
	check(t, err)
	right, err := b.Binary(ir.Modulo, next, n)
	check(t, err)
	tile := b.Add(ir.Load).Set("tensor", x).Set("offsets", zeros...).Set("shape", shape...).Must().Result()
	b.Add(ir.RemoteStore).Set("tile", tile).Set("target", data).Set("peer", right).Set("offsets", zeros...).Must()
	b.At(text.Span(0, 11))
	b.Add(ir.Notify).Set("target", sig).Set("peer", right).Set("offsets", ir.Index(notifyCell), ir.Index(0)).Set("value", ir.Index(1)).Must()
	b.At(text.Span(12, 21))
	b.Add(ir.Wait).Set("signal", sig).Set("offsets", ir.Index(waitCell), ir.Index(0)).Set("expected", ir.Index(1)).Must()
	got := b.Add(ir.Load).Set("tensor", data).Set("offsets", zeros...).Set("shape", shape...).Must().Result()
	sum, err := b.Binary(ir.Add, tile, got)
	check(t, err)
	b.Add(ir.Store).Set("tile", sum).Set("offsets", zeros...).Set("tensor", y).Must()
	m := &ir.Module{Name: "exchange", Syms: []string{"NR"}, Funcs: []*ir.Func{f}}
	m.Funcs = append(m.Funcs, exchangeHost(t, f))
	return m
}

func exchangeHost(t testing.TB, step *ir.Func) *ir.Func {
	h := ir.NewFunc("main", ir.Host, source.Span{})
	all := []ir.Dim{ir.SymDim("NR"), ir.ConstDim(1), ir.ConstDim(64)}
	x := h.AddParam("x", &ir.Tensor{Dims: all, DType: ir.FP32}, ir.In)
	y := h.AddParam("y", &ir.Tensor{Dims: all, DType: ir.FP32}, ir.Out)
	b := ir.NewBuilder(h, h.Body)
	row := []*ir.Value{ir.Index(1), ir.Index(64)}
	cells := []*ir.Value{ir.DimValue(ir.SymDim("NR")), ir.Index(1)}
	data := b.Add(ir.AllocWindow).Set("shape", row...).SetAttr("dtype", ir.FP32).Name("data_buf").Must().Result()
	sig := b.Add(ir.AllocWindow).Set("shape", cells...).SetAttr("dtype", ir.INT32).Name("sig_buf").Must().Result()
	n := b.Add(ir.WorldSize).Must().Result()
	loop, body := b.For("range", ir.Index(0), n, ir.Index(1))
	r := loop.Regions[0].Args[0]
	slice := func(v *ir.Value) *ir.Value {
		return body.Add(ir.Slice).Set("x", v).Set("shape", ir.Index(1), ir.Index(1), ir.Index(64)).
			Set("offsets", r, ir.Index(0), ir.Index(0)).SetAttr("drop_dims", int64(1)).Must().Result()
	}
	xs, ys := slice(x), slice(y)
	dw := body.Add(ir.Window).Set("buffer", data).Set("shape", row...).SetAttr("dtype", ir.FP32).Must().Result()
	sw := body.Add(ir.Window).Set("buffer", sig).Set("shape", cells...).SetAttr("dtype", ir.INT32).Must().Result()
	body.Add(ir.Call).SetAttr("callee", step).Set("args", xs, ys, dw, sw).Set("device", r).Must()
	body.Yield()
	return h
}

// backends makes one backend of each kind; native ones compile the kernels of m.
func backends(t testing.TB, m *ir.Module, ranks int, timeout time.Duration) map[string]func() Backend {
	out := map[string]func() Backend{"sim": func() Backend {
		b, err := NewSim(sim.Config{Ranks: ranks, Timeout: timeout})
		check(t, err)
		return b
	}}
	tc, err := toolchain.Open()
	check(t, err)
	t.Cleanup(func() { tc.Close() })
	if _, err := tc.Compiler(); err != nil {
		return out
	}
	obj := compile(t, tc, m)
	engine, err := native.Build(context.Background(), tc, "")
	check(t, err)
	for _, mode := range []native.Mode{native.Threads, native.Processes} {
		out[mode.String()] = func() Backend {
			b, err := NewNative(native.Config{Ranks: ranks, Mode: mode, EnginePath: engine, Timeout: timeout}, obj)
			check(t, err)
			return b
		}
	}
	return out
}

func compile(t testing.TB, tc *toolchain.Toolchain, m *ir.Module) Object {
	gen, err := cpp.Generate(m)
	check(t, err)
	res, err := tc.Compile(context.Background(), toolchain.Unit{Name: "kernels.cpp", Source: gen.Text}, toolchain.Options{})
	check(t, err)
	obj := Object{Path: res.Path, Syms: map[string][]string{}}
	for _, k := range gen.Kernels {
		obj.Syms[k.Name] = k.Syms
	}
	for _, s := range gen.Sites {
		obj.Sites = append(obj.Sites, failure.Place{Span: s.Span, Op: s.Op})
	}
	return obj
}

func TestAHandMadeProgramRunsOnEveryBackend(t *testing.T) {
	m := exchange(t, 0, 0)
	for _, n := range []int{1, 2, 3, 4, 5, 8, 16} {
		for name, make := range backends(t, m, n, 30*time.Second) {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				b := make()
				defer b.Close()
				syms, bad := Bind(m.Func("main"), Given{Ranks: n})
				if bad != nil {
					t.Fatal(bad)
				}
				p, err := Prepare(m, m.Func("main"), b, syms)
				check(t, err)
				shape := []int64{int64(n), 1, 64}
				x, err := p.NewTensor("x", ir.FP32, shape)
				check(t, err)
				y, err := p.NewTensor("y", ir.FP32, shape)
				check(t, err)
				x.FillIota()
				for range 3 {
					y.Fill(0)
					check(t, p.Run(context.Background(), []any{x, y}))
					for r := range n {
						left := (r + n - 1) % n
						if got, want := y.Float(int64(64*r+5)), float64(64*r+64*left+10); got != want {
							t.Fatalf("rank %d: got %v, want %v", r, got, want)
						}
					}
				}
			})
		}
	}
}

func TestAWrongCellIsReported(t *testing.T) {
	m := exchange(t, 1, 0)
	for name, make := range backends(t, m, 2, 300*time.Millisecond) {
		t.Run(name, func(t *testing.T) {
			b := make()
			defer b.Close()
			p, err := Prepare(m, m.Func("main"), b, map[string]int64{"NR": 2})
			check(t, err)
			x, err := p.NewTensor("x", ir.FP32, []int64{2, 1, 64})
			check(t, err)
			y, err := p.NewTensor("y", ir.FP32, []int64{2, 1, 64})
			check(t, err)
			err = p.Run(context.Background(), []any{x, y})
			var f *failure.Failure
			if !errors.As(err, &f) {
				t.Fatalf("got %v", err)
			}
			d := p.Report(err)
			var text strings.Builder
			diag.RenderOne(&text, d, diag.Options{})
			for _, want := range []string{"E0720", "rank 0 waits for ever", "sig[0, 0] is 0, expected >= 1", "exchange.pl:2:1", "exchange.pl:1:1",
				"no kernel of this run notifies sig[0, 0]", "step signals sig[1, 0] instead", "sig[1, 0] is 1", "rank 1 waiting here"} {
				if !strings.Contains(text.String(), want) {
					t.Errorf("no %q in\n%s", want, text.String())
				}
			}
			if testing.Verbose() {
				t.Log("\n" + text.String())
			}
		})
	}
}
