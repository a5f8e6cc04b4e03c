package ir

// Overlap says whether two views of memory have elements in common.
type Overlap uint8

const (
	MayOverlap Overlap = iota // it depends on values of the run
	Disjoint
	Overlaps
)

// OverlapOf compares two views without gaps, as calls pass them. Different roots are different memory: two
// parameters, because calls see to it; but two windows of one buffer are not told apart here.
func OverlapOf(a, b *Value) Overlap {
	x, y := placeOf(a), placeOf(b)
	switch {
	case x.root != y.root:
		return Disjoint
	case x.size().Is(0) || y.size().Is(0):
		return Disjoint
	case !samePeer(x.peer, y.peer):
		return MayOverlap
	case x.start.Equal(y.start):
		return Overlaps
	}
	d, known := y.start.Sub(x.start).Const()
	if known && d < 0 {
		x, y, d = y, x, -d
	}
	if n, ok := x.size().Const(); known && ok {
		if d < n {
			return Overlaps
		}
		return Disjoint
	}
	if endsBefore(x, y) || endsBefore(y, x) {
		return Disjoint
	}
	return MayOverlap
}

// place is where a view lies in its root, in elements.
type place struct {
	root, peer   *Value
	start        Dim
	dims, stride []Dim
}

func (p *place) size() Dim { return Product(p.dims) }

// endsBefore: x's last element certainly comes before y's first.
func endsBefore(x, y *place) bool {
	gap, ok := y.start.Sub(x.start).Sub(x.size()).Const()
	return ok && gap >= 0
}

func samePeer(a, b *Value) bool {
	return a == b || a != nil && b != nil && DimOf(a).Equal(DimOf(b))
}

func placeOf(v *Value) *place {
	if v.Def != nil {
		switch v.Def.Kind {
		case Slice:
			p := placeOf(v.Def.Val("x"))
			for i, o := range v.Def.Vals("offsets") {
				p.start = p.start.Add(DimOf(o).Mul(p.stride[i]))
			}
			drop := v.Def.Int("drop_dims")
			p.dims, p.stride = ShapeOf(v.Type), p.stride[drop:]
			return p
		case Reshape:
			p := placeOf(v.Def.Val("x"))
			p.dims = ShapeOf(v.Type)
			p.stride = rowMajor(p.dims)
			return p
		case Peer:
			p := placeOf(v.Def.Val("target"))
			p.peer = v.Def.Val("peer")
			return p
		}
	}
	dims := ShapeOf(v.Type)
	return &place{root: v, start: ConstDim(0), dims: dims, stride: rowMajor(dims)}
}

func rowMajor(dims []Dim) []Dim {
	out := make([]Dim, len(dims))
	n := ConstDim(1)
	for i := len(dims) - 1; i >= 0; i-- {
		out[i] = n
		n = n.Mul(dims[i])
	}
	return out
}

// A Pair is two memory parameters of a function, by index.
type Pair struct{ First, Second int }

// DistinctParams lists the pairs of f's memory parameters that must not overlap: code for f takes them to be
// different memory, which matters as soon as f writes one of them.
func DistinctParams(f *Func) []Pair {
	written := map[*Value]bool{}
	for i, p := range f.Params() {
		written[p] = f.Dirs[i] != In
	}
	for _, e := range FuncEffects(f) {
		switch e.Kind {
		case Writes, RemoteWrites, Signals:
			written[e.Mem] = true
		}
	}
	var out []Pair
	for j, q := range f.Params() {
		for i, p := range f.Params()[:j] {
			if IsMemory(p) && IsMemory(q) && (written[p] || written[q]) {
				out = append(out, Pair{i, j})
			}
		}
	}
	return out
}

// IsMemory: a tensor or window, not a tile or scalar.
func IsMemory(v *Value) bool { _, ok := v.Type.(*Tensor); return ok }
