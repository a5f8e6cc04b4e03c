package cpp

import "ptoc/ir"

// printers are the ops of kernels. Elementwise kinds, on scalars and on tiles that are not fused, are added by
// init.
var printers map[*ir.Kind]func(*fn, *ir.Op)

func init() {
	printers = map[*ir.Kind]func(*fn, *ir.Op){
		ir.For: (*fn).forLoop, ir.While: (*fn).whileLoop, ir.Cond: (*fn).leaveUnless, ir.If: (*fn).ifElse, ir.Call: (*fn).call, ir.Fused: (*fn).fused,

		ir.Load: on((*fn).load, "tensor"), ir.RemoteLoad: on((*fn).load, "target"),
		ir.Store: on((*fn).store, "tensor"), ir.RemoteStore: on((*fn).store, "target"),
		ir.Put: (*fn).copyRegion, ir.Get: (*fn).copyRegion, ir.Read: (*fn).read, ir.Write: (*fn).write, ir.CreateTensor: (*fn).create,
		ir.Peer: (*fn).peerView, ir.Slice: (*fn).relabel, ir.Reshape: (*fn).relabel,

		ir.Full: (*fn).full, ir.Arange: (*fn).arange, ir.FillPad: (*fn).fillpad, ir.Transpose: (*fn).transpose, ir.Concat: (*fn).concat,
		ir.Sum: (*fn).reduce, ir.Prod: (*fn).reduce, ir.Amax: (*fn).reduce, ir.Amin: (*fn).reduce,
		ir.MatMul: (*fn).matmul, ir.MatMulAcc: (*fn).matmul,

		ir.Notify: (*fn).notify, ir.Wait: (*fn).wait, ir.Fence: (*fn).fence, ir.GetCommCtx: (*fn).commCtx,
		ir.Rank: (*fn).domainField, ir.NRanks: (*fn).domainField, ir.BlockIdx: (*fn).blockOf, ir.BlockNum: (*fn).blockOf,
		ir.ArrayCreate: (*fn).array, ir.ArrayGet: (*fn).array, ir.ArraySet: (*fn).array,
	}
	for _, k := range ir.Kinds() {
		if k.Map == ir.Elementwise && k.Scalar != "" && printers[k] == nil {
			printers[k] = (*fn).pointwise
		}
	}
}

// on fixes the parameter that is the memory of an access.
func on(f func(*fn, *ir.Op, string), mem string) func(*fn, *ir.Op) {
	return func(e *fn, op *ir.Op) { f(e, op, mem) }
}

// Handles reports whether kernels may contain such ops.
func Handles(k *ir.Kind) bool { return printers[k] != nil || k.Terminator }

func (e *fn) leaveUnless(op *ir.Op) { e.w.line("if (!%s) break;", e.scalar(op.Val("cond"))) }

func (e *fn) fence(*ir.Op) {
	e.w.line("ptoc_store_fence();")
	e.w.line("__atomic_thread_fence(__ATOMIC_SEQ_CST);")
}

func (e *fn) commCtx(op *ir.Op) { e.mems[op.Result()] = &memory{dom: e.data(op.Val("target")).dom} }

func (e *fn) domainField(op *ir.Op) {
	field := map[*ir.Kind]string{ir.Rank: "rank", ir.NRanks: "nranks"}[op.Kind]
	e.define(op.Result(), e.data(op.Val("ctx")).dom+"->"+field)
}

func (e *fn) pointwise(op *ir.Op) {
	if _, ok := op.Result().Type.(*ir.Tile); ok {
		e.elementwise(op)
	} else {
		e.scalarOp(op)
	}
}
