package ptx

import (
	"fmt"
	"strings"

	ll "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/lower"
	"ptoc/codegen/target"
	"ptoc/ir"
)

// product is a matrix product on tensor cores: out[rows, cols] = a[rows, inner] b[inner, cols], each warp
// 16 rows and up to 32 columns at a time, 16 (TF32: 8) of inner a step.
type product struct {
	a, b           *memory
	aTrans, bTrans bool
	deep           int64
	batch          val
	target.Fragments
}

// step is how many of inner one instruction takes: 32 bytes.
func (p *product) step() int64 { return 32 / p.size() }

func (p *product) size() int64 { return int64(p.a.dt.Size()) }

// onTensorCores reports whether the product can be one of mma.sync's: FP16, BF16 or, where that was asked for,
// FP32 as TF32, in shared memory, in whole blocks.
func (e *fn) onTensorCores(op *ir.Op, a, b *memory) *product {
	shape := lower.ProductOf(op)
	p := &product{a: a, b: b, aTrans: op.Bool("a_trans"), bTrans: op.Bool("b_trans"), batch: e.dim(shape.Batch)}
	rows, ok1 := shape.Rows.Const()
	cols, ok2 := shape.Cols.Const()
	deep, ok3 := shape.Inner.Const()
	whole := ok1 && ok2 && ok3 && rows%16 == 0 && cols%8 == 0 && deep%p.step() == 0 && rows > 0 && cols > 0 && deep > 0
	cores := a.dt == ir.FP16 || a.dt == ir.BF16 || a.dt == ir.FP32 && e.g.opt.TF32
	if !whole || a.dt != b.dt || !cores || e.space != shared {
		return nil
	}
	p.Fragments, p.deep = target.Share(rows, cols), deep
	return p
}

// mma emits the product: finish gets each element's place and sum.
func (e *fn) mma(p *product, finish func(i, sum val)) {
	sums := e.sums(p.Fragments, p.a.dt)
	e.loop("block", e.b.NewLShr(e.tid, i64(5)), e.mul(p.batch, i64(p.Parts)), i64(Threads/32), func(i val) {
		at := e.partAt(p.Fragments, i)
		e.mmaPart(p, at, sums)
		for j, i := range e.elements(p.Fragments, at) {
			finish(i, e.b.NewLoad(types.Float, sums[j]))
		}
	})
}

// mmaPart sums up a part of the product.
func (e *fn) mmaPart(p *product, at part, sums []val) {
	lane := e.b.NewAnd(e.tid, i64(31))
	for _, s := range sums {
		e.b.NewStore(f32(0), s)
	}
	a := operand{p.a, e.mul(at.z, i64(p.Rows*p.deep))}
	b := operand{p.b, e.mul(at.z, i64(p.deep*p.Cols))}
	e.loop("step", i64(0), i64(p.deep), i64(p.step()), func(k val) {
		if p.a.dt == ir.FP32 {
			e.tf32Step(p, lane, a, b, at.row, at.col, k, sums)
		} else {
			e.mmaStep(p, lane, a, b, at.row, at.col, k, sums)
		}
	})
}

// mmaStep loads the fragments of 16 of inner and multiplies them.
func (e *fn) mmaStep(p *product, lane val, a, b operand, row, col, k val, sums []val) {
	low, high := e.b.NewAnd(lane, i64(7)), e.b.NewAnd(e.b.NewLShr(lane, i64(3)), i64(1))
	top := e.b.NewLShr(lane, i64(4))
	// Lanes 8j to 8j+7 point to the rows of matrix j. Of A: the upper and lower left, then the upper and
	// lower right quarter.
	y, x := e.add(row, e.add(low, e.mul(high, i64(8)))), e.add(k, e.mul(top, i64(8)))
	at, stride := [2]val{y, x}, p.deep
	if p.aTrans {
		at, stride = [2]val{e.add(k, e.add(low, e.mul(top, i64(8)))), e.add(row, e.mul(high, i64(8)))}, p.Rows
	}
	fa := e.ldmatrix(4, p.aTrans, e.matrixRow(a, at, stride))
	for j := range p.Wide / 8 {
		c := e.add(col, i64(8*j))
		// Of B: the upper and the lower half.
		at, stride := [2]val{e.add(k, e.add(low, e.mul(high, i64(8)))), c}, p.Cols
		if p.bTrans {
			at, stride = [2]val{e.add(c, low), e.add(k, e.mul(high, i64(8)))}, p.deep
		}
		fb := e.ldmatrix(2, !p.bTrans, e.matrixRow(b, at, stride))
		e.multiply(p, fa, fb, sums[4*j:4*j+4])
	}
}

// tf32Step is mmaStep for 8 of inner: each lane reads its elements, four of A and two of B for every block.
func (e *fn) tf32Step(p *product, lane val, a, b operand, row, col, k val, sums []val) {
	g, t := e.b.NewLShr(lane, i64(2)), e.b.NewAnd(lane, i64(3))
	read := func(m operand, y, x val, trans bool, rows, cols int64) val {
		stride := cols
		if trans {
			y, x, stride = x, y, rows
		}
		v := e.load(types.Float, e.matrixRow(m, [2]val{y, x}, stride), 4)
		return e.pure(types.I32, "cvt.rna.tf32.f32 $0, $1;", "=r,f", v)
	}
	var fa []val
	for i := range int64(4) {
		fa = append(fa, read(a, e.add(row, e.add(g, i64(i%2*8))), e.add(k, e.add(t, i64(i/2*4))), p.aTrans, p.Rows, p.deep))
	}
	for j := range p.Wide / 8 {
		var fb []val
		for i := range int64(2) {
			fb = append(fb, read(b, e.add(k, e.add(t, i64(4*i))), e.add(col, e.add(g, i64(8*j))), p.bTrans, p.deep, p.Cols))
		}
		e.multiply(p, fa, fb, sums[4*j:4*j+4])
	}
}

// operand is a matrix of a product: its elements from first on.
type operand struct {
	m     *memory
	first val
}

// matrixRow is the address of an element.
func (e *fn) matrixRow(o operand, at [2]val, stride int64) val {
	i := e.add(o.first, e.add(e.mul(at[0], i64(stride)), at[1]))
	return e.byteAt(o.m, e.mul(i, i64(int64(o.m.dt.Size()))))
}

// ldmatrix loads n 8x8 matrices, each lane its part.
func (e *fn) ldmatrix(n int, trans bool, row val) []val {
	name := fmt.Sprintf("ldmatrix.sync.aligned.m8n8.x%d", n)
	if trans {
		name += ".trans"
	}
	text := fmt.Sprintf("%s.shared.b16 {%s}, [$%d];", name, places(0, n), n)
	return e.warpAsm(types.I32, n, text, strings.Repeat("=r,", n)+"l,~{memory}", row)
}

// multiply adds a block's product to sums.
func (e *fn) multiply(p *product, a, b, sums []val) {
	elem := map[ir.DType]string{ir.FP16: "f16", ir.BF16: "bf16", ir.FP32: "tf32"}[p.a.dt]
	text := fmt.Sprintf("mma.sync.aligned.m16n8k%d.row.col.f32.%s.%s.f32 {%s}, {%s}, {%s}, {%s};", p.step(), elem, elem,
		places(0, 4), places(4, 4), places(8, 2), places(10, 4))
	args := append(append([]val(nil), a...), b...)
	for _, s := range sums {
		args = append(args, e.b.NewLoad(types.Float, s))
	}
	for i, x := range e.warpAsm(types.Float, 4, text, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", args...) {
		e.b.NewStore(x, sums[i])
	}
}

func places(from, n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("$%d", from+i))
	}
	return strings.Join(list, ", ")
}

// warpAsm is an instruction of the whole warp with n results of one type.
func (e *fn) warpAsm(t types.Type, n int, text, constraints string, args ...val) []val {
	fields := make([]types.Type, n)
	for i := range fields {
		fields[i] = t
	}
	ret := types.NewStruct(fields...)
	var params []types.Type
	for _, a := range args {
		params = append(params, a.Type())
	}
	in := ll.NewInlineAsm(types.NewPointer(types.NewFunc(ret, params...)), text, constraints)
	in.SideEffect = true
	call := e.b.NewCall(in, args...)
	call.FuncAttrs = append(call.FuncAttrs, enum.FuncAttrConvergent)
	out := make([]val, n)
	for i := range out {
		out[i] = e.b.NewExtractValue(call, uint64(i))
	}
	return out
}
