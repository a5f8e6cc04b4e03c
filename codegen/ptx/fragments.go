package ptx

import (
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/lower"
	"ptoc/codegen/target"
	"ptoc/ir"
)

// What products add to stays in registers, as fragments, from the first product to the last: package target says of
// which tiles that holds. Warp w has the parts w, w + 4, ... of a tile. Products take and leave fragments as they are;
// a loop takes one from memory where it begins, and puts one there behind its end.

// held reports whether the threads have v in registers.
func (e *fn) held(v *ir.Value) bool { return e.Rows[v] || e.Fragments[v] }

// part is a warp's part of a product: 16 rows from row on, some columns from col on, of matrix z.
type part struct{ z, row, col val }

// partAt is part number i.
func (e *fn) partAt(f target.Fragments, i val) part {
	across := f.Cols / f.Wide
	all := f.Rows / 16 * across
	z, rest := e.b.NewUDiv(i, i64(all)), e.b.NewURem(i, i64(all))
	return part{z, e.mul(e.b.NewUDiv(rest, i64(across)), i64(16)), e.mul(e.b.NewURem(rest, i64(across)), i64(f.Wide))}
}

// ownPart is the warp's r-th part. Where it can, it is a constant away from the others: so are the addresses of their
// elements, which then take no registers of their own.
func (e *fn) ownPart(f target.Fragments, r int64) part {
	const warps = Threads / 32
	warp, first := e.b.NewLShr(e.tid, i64(5)), r*warps
	across := f.Cols / f.Wide
	all := f.Rows / 16 * across
	at := part{i64(first / all), i64(first % all / across * 16), i64(first % all % across * f.Wide)}
	switch {
	case all%warps == 0 && across%warps == 0:
		at.col = e.add(e.mul(warp, i64(f.Wide)), at.col)
	case all%warps == 0 && warps%across == 0:
		at.row = e.add(e.mul(e.b.NewUDiv(warp, i64(across)), i64(16)), at.row)
		at.col = e.mul(e.b.NewURem(warp, i64(across)), i64(f.Wide))
	default:
		return e.partAt(f, e.add(warp, i64(first)))
	}
	return at
}

// corner is a lane's first element of a part: others are its neighbour, 8 rows below, and each 8 columns further.
func (e *fn) corner(at part) (row, col val) {
	lane := e.b.NewAnd(e.tid, i64(31))
	return e.add(at.row, e.b.NewLShr(lane, i64(2))), e.add(at.col, e.mul(e.b.NewAnd(lane, i64(3)), i64(2)))
}

// elements lists the linear indices of a lane's elements of a part.
func (e *fn) elements(f target.Fragments, at part) []val {
	row, col := e.corner(at)
	base := e.mul(at.z, i64(f.Rows*f.Cols))
	var out []val
	for j := range f.PerPart() {
		y, x := e.add(row, i64(j/2%2*8)), e.add(col, i64(j/4*8+j%2))
		out = append(out, e.add(base, e.add(e.mul(y, i64(f.Cols)), x)))
	}
	return out
}

// fragmentsOf lists the parts that a thread has of v.
func (e *fn) fragmentsOf(v *ir.Value) (target.Fragments, []part) {
	f, _ := target.FragmentsOf(v.Type.(*ir.Tile))
	var parts []part
	for r := range f.Parts / (Threads / 32) {
		parts = append(parts, e.ownPart(f, r))
	}
	return f, parts
}

// places lists the linear indices of a thread's elements of v, in the order of its registers.
func (e *fn) placesOf(v *ir.Value) []val {
	f, parts := e.fragmentsOf(v)
	var out []val
	for _, at := range parts {
		out = append(out, e.elements(f, at)...)
	}
	return out
}

// fetch takes fragments from memory.
func (e *fn) fetch(v *ir.Value) []val {
	m := e.data(v)
	e.touch([]*memory{m}, nil)
	out := e.placesOf(v)
	for j, i := range out {
		out[j] = e.item(m, i)
	}
	return out
}

// spill leaves fragments in memory.
func (e *fn) spill(v *ir.Value) {
	m := e.data(v)
	e.touch(nil, []*memory{m})
	for j, i := range e.placesOf(v) {
		e.put(m, i, e.regs[v][j])
	}
}

// fill makes fragments of one scalar.
func (e *fn) fill(v, x *ir.Value) {
	t := v.Type.(*ir.Tile)
	f, _ := target.FragmentsOf(t)
	piece := e.scalarAs(x, t.DType)
	e.regs[v] = nil
	for range f.PerThread() {
		e.regs[v] = append(e.regs[v], piece)
	}
}

// heldProduct emits a product that adds to fragments or makes some. Each warp makes its parts of it, on tensor cores
// if p is not nil.
func (e *fn) heldProduct(op *ir.Op, p *product, a, b *memory, finish func(i, sum val)) {
	f, parts := e.fragmentsOf(op.Result())
	sums := e.sums(f, a.dt)
	for _, at := range parts {
		if p != nil {
			e.mmaPart(p, at, sums)
		} else {
			e.plainPart(lower.ProductOf(op), a, b, at, sums)
		}
		for j, i := range e.elements(f, at) {
			finish(i, e.b.NewLoad(sumType(a.dt), sums[j]))
		}
	}
}

// sums are the variables in which a lane sums up its elements of a part.
func (e *fn) sums(f target.Fragments, dt ir.DType) []val {
	out := make([]val, f.PerPart())
	for i := range out {
		out[i] = e.alloca(sumType(dt))
	}
	return out
}

func sumType(dt ir.DType) types.Type {
	if dt.IsFloat() {
		return types.Float
	}
	return types.I32
}

// plainPart sums up a part by multiply-adds. Of a step of inner a lane reads the elements of its rows and columns once.
func (e *fn) plainPart(p lower.Product, a, b *memory, at part, sums []val) {
	row, col := e.corner(at)
	as, bs, inner := e.dims(p.A[:]), e.dims(p.B[:]), e.dim(p.Inner)
	pa := e.add(e.mul(at.z, e.mul(e.dim(p.Rows), inner)), e.mul(row, as[0]))
	pb := e.add(e.mul(at.z, e.mul(inner, e.dim(p.Cols))), e.mul(col, bs[1]))
	for _, s := range sums {
		e.b.NewStore(e.zeroSum(a.dt), s)
	}
	e.loop("dot", i64(0), inner, i64(1), func(k val) {
		var u [2]val
		for i := range u {
			u[i] = e.item(a, e.add(e.add(pa, e.mul(i64(int64(8*i)), as[0])), e.mul(k, as[1])))
		}
		var v []val
		for j := range int64(len(sums) / 2) {
			v = append(v, e.item(b, e.add(e.add(pb, e.mul(i64(j/2*8+j%2), bs[1])), e.mul(k, bs[0]))))
		}
		for j, s := range sums {
			e.b.NewStore(e.multiplyAdd(a.dt, u[j/2%2], v[j/4*2+j%2], e.b.NewLoad(sumType(a.dt), s)), s)
		}
	})
}

func (e *fn) zeroSum(dt ir.DType) val {
	if dt.IsFloat() {
		return f32(0)
	}
	return i32(0)
}

// multiplyAdd is sum + x y, where x and y are elements of type dt.
func (e *fn) multiplyAdd(dt ir.DType, x, y, sum val) val {
	if dt.IsFloat() {
		return e.fma(x, y, sum)
	}
	return e.b.NewAdd(sum, e.b.NewMul(e.convert(x, dt, ir.INT32), e.convert(y, dt, ir.INT32)))
}
