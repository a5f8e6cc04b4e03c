package ir

import (
	"testing"

	"ptoc/lang/source"
)

func TestOverlapOfViews(t *testing.T) {
	f := NewFunc("f", Chip, source.Span{})
	n := SymDim("N")
	x := f.AddParam("x", &Tensor{Dims: []Dim{ConstDim(4), ConstDim(8)}, DType: FP32}, InOut)
	y := f.AddParam("y", &Tensor{Dims: []Dim{ConstDim(4), n}, DType: FP32}, InOut)
	w := f.AddParam("w", &Tensor{Dims: []Dim{ConstDim(4)}, DType: FP32, Window: true}, InOut)
	k := f.AddParam("k", &Scalar{DType: INDEX}, In)
	b := NewBuilder(f, f.Body)
	row := func(m, at *Value, rows int64) *Value {
		return b.Add(Slice).Set("x", m).Set("shape", b.Dims([]Dim{ConstDim(rows), ShapeOf(m.Type)[1]})...).Set("offsets", at, Index(0)).Must().Result()
	}
	next := b.Dim(DimOf(k).Add(ConstDim(1)))
	flat := b.Add(Reshape).Set("x", x).Set("shape", Index(32)).Must().Result()
	part := b.Add(Slice).Set("x", flat).Set("shape", Index(4)).Set("offsets", Index(12)).Must().Result()
	peer := func(p *Value) *Value { return b.Add(Peer).Set("target", w).Set("peer", p).Must().Result() }
	for _, c := range []struct {
		what string
		a, b *Value
		want Overlap
	}{
		{"two parameters", x, y, Disjoint},
		{"the same", x, x, Overlaps},
		{"neighbouring rows", row(x, Index(0), 1), row(x, Index(1), 1), Disjoint},
		{"rows and one of them", row(x, Index(0), 2), row(x, Index(1), 1), Overlaps},
		{"rows and one of them, the other way round", row(x, Index(1), 1), row(x, Index(0), 2), Overlaps},
		{"a row and a part of it, seen flat", row(x, Index(1), 1), part, Overlaps},
		{"another row", row(x, Index(2), 1), part, Disjoint},
		{"no rows", row(x, Index(1), 0), x, Disjoint},
		{"rows of N", row(y, Index(0), 1), row(y, Index(1), 1), Disjoint},
		{"a run-time row twice", row(y, k, 1), row(y, k, 1), Overlaps},
		{"a run-time row and the next", row(y, next, 1), row(y, k, 1), Disjoint},
		{"two run-time rows and the next", row(y, k, 2), row(y, next, 1), MayOverlap},
		{"a run-time row and the first", row(x, k, 1), row(x, Index(0), 1), MayOverlap},
		{"a peer's copy and this rank's", peer(k), w, MayOverlap},
		{"a peer's copy twice", peer(k), peer(k), Overlaps},
	} {
		if got := OverlapOf(c.a, c.b); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}

func TestOnlyPairsWithAWrittenParameterMustBeDistinct(t *testing.T) {
	f := NewFunc("f", InCore, source.Span{})
	dims := []Dim{ConstDim(4)}
	f.AddParam("a", &Tensor{Dims: dims, DType: FP32}, In)
	f.AddParam("n", &Scalar{DType: INDEX}, In)
	f.AddParam("b", &Tensor{Dims: dims, DType: FP32}, In)
	f.AddParam("c", &Tensor{Dims: dims, DType: FP32}, Out)
	got := DistinctParams(f)
	if len(got) != 2 || got[0] != (Pair{0, 3}) || got[1] != (Pair{2, 3}) {
		t.Errorf("%v", got)
	}
}
