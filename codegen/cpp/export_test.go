package cpp

import (
	"testing"

	"github.com/x448/float16"

	"ptoc/codegen/abi"
	"ptoc/codegen/lower"
	"ptoc/ir"
)

// The harness, for tests that need the whole compiler.

type XKernel struct{ k kernel }

func XBuild(t testing.TB, m *ir.Module, name string) XKernel {
	return XKernel{build(t, m, name)}
}
func (k XKernel) Sites() lower.Sites { return k.k.out.Sites }

func (k XKernel) Call(t testing.TB, args ...int64) abi.Fault { return k.k.call(t, nil, 0, args...) }

// CallOn runs a kernel whose only window starts at 0.
func (k XKernel) CallOn(t testing.TB, w World, rank int, syms ...int64) abi.Fault {
	d := w.w.domain(rank)
	return k.k.call(t, w.w, rank, append([]int64{ptrOf(d), 0}, syms...)...)
}

type World struct{ w *world }

func XWorld(ranks, bytes int) World    { return World{newWorld(ranks, bytes)} }
func (w World) Bytes(rank int) []byte  { return w.w.win[rank] }
func XMemory[T any](x []T) *Guarded[T] { var g T; return &Guarded[T]{guard(x, g)} }
func XHalf(x float32) uint16           { return float16.Fromfloat32(x).Bits() }
func XFromHalf(b uint16) float32       { return float16.Frombits(b).Float32() }

type Guarded[T any] struct{ *guarded[T] }

func (g *Guarded[T]) Addr() int64        { return g.addr() }
func (g *Guarded[T]) Check(t testing.TB) { t.Helper(); g.check(t) }
