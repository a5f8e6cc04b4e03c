package ptx

import (
	"ptoc/codegen/lower"
	"ptoc/ir"
)

// emitters are the ops of kernels. Elementwise kinds are added by init: on scalars; tiles are fused before.
var emitters map[*ir.Kind]func(*fn, *ir.Op)

func init() {
	emitters = map[*ir.Kind]func(*fn, *ir.Op){
		ir.For: (*fn).forLoop, ir.While: (*fn).whileLoop, ir.If: (*fn).branch, ir.Call: (*fn).call, ir.Fused: (*fn).fused,

		ir.Load: on((*fn).loadTile, "tensor"), ir.RemoteLoad: on((*fn).loadTile, "target"),
		ir.Store: on((*fn).storeTile, "tensor"), ir.RemoteStore: on((*fn).storeTile, "target"),
		ir.Put: (*fn).copyRegion, ir.Get: (*fn).copyRegion, ir.Read: (*fn).read, ir.Write: (*fn).write, ir.CreateTensor: (*fn).create,
		ir.Peer: (*fn).view, ir.Slice: (*fn).view, ir.Reshape: (*fn).view,

		ir.Arange: (*fn).arange, ir.FillPad: (*fn).fillpad, ir.Transpose: (*fn).transpose, ir.Concat: (*fn).concat,
		ir.Sum: (*fn).reduce, ir.Prod: (*fn).reduce, ir.Amax: (*fn).reduce, ir.Amin: (*fn).reduce,
		ir.MatMul: (*fn).matmul, ir.MatMulAcc: (*fn).matmul,

		ir.Notify: (*fn).notify, ir.Wait: (*fn).wait, ir.Fence: (*fn).fence, ir.GetCommCtx: (*fn).commCtx,
		ir.Rank: (*fn).domainField, ir.NRanks: (*fn).domainField, ir.BlockIdx: (*fn).blockOf, ir.BlockNum: (*fn).blockOf,
		ir.ArrayCreate: (*fn).array, ir.ArrayGet: (*fn).array, ir.ArraySet: (*fn).array,
	}
	for _, k := range ir.Kinds() {
		if k.Map == ir.Elementwise && k.Scalar != "" && emitters[k] == nil {
			emitters[k] = (*fn).scalarOp
		}
	}
}

// on fixes the parameter that is the memory of an access.
func on(f func(*fn, *ir.Op, string), mem string) func(*fn, *ir.Op) {
	return func(e *fn, op *ir.Op) { f(e, op, mem) }
}

// Handles reports whether kernels may contain such ops: FuseTileOps turns pl.full into a constant of a fused
// loop, and pl.cond is part of its loop.
func Handles(k *ir.Kind) bool {
	return emitters[k] != nil || k.Terminator || k == ir.Full || k == ir.Cond
}

func (e *fn) commCtx(op *ir.Op) { e.mems[op.Result()] = &memory{dom: e.data(op.Val("target")).dom} }

func (e *fn) domainField(op *ir.Op) {
	d := e.data(op.Val("ctx")).dom
	e.vals[op.Result()] = map[*ir.Kind]val{ir.Rank: d.rank, ir.NRanks: d.nranks}[op.Kind]
}

// scalarOp emits an elementwise op on scalars.
func (e *fn) scalarOp(op *ir.Op) {
	if _, tile := op.Result().Type.(*ir.Tile); tile {
		lower.Fail(op.Span, "%s: tile ops must be fused before", op.Kind.Name)
	}
	e.vals[op.Result()] = e.compute(op)
}
