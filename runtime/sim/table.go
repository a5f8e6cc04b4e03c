package sim

import (
	"ptoc/ir"
	"ptoc/runtime/interp"
)

// deviceTable are the ops of chip, incore and golden functions. Elementwise kinds, which take tiles
// here, are added by init.
var deviceTable = interp.Table{
	ir.Full: full, ir.Arange: arange, ir.FillPad: fillPad,
	ir.Load: load, ir.Store: store, ir.Read: read, ir.Write: write,
	ir.Slice: slice, ir.Reshape: reshape, ir.Transpose: transpose, ir.Concat: concat,
	ir.Sum: reduce, ir.Prod: reduce, ir.Amax: reduce, ir.Amin: reduce,
	ir.MatMul: matmul, ir.MatMulAcc: matmul,
	ir.CreateTensor: createTensor, ir.ArrayCreate: arrayCreate, ir.ArrayGet: arrayGet, ir.ArraySet: arraySet,
	ir.BlockIdx: blockIdx, ir.BlockNum: blockNum,
	ir.Fused: fused,

	ir.WorldSize: worldSize, ir.GetCommCtx: commCtx, ir.Rank: rankOp, ir.NRanks: nranks,
	ir.Notify: notify, ir.Wait: wait, ir.Fence: fence,
	ir.Put: put, ir.Get: get, ir.RemoteLoad: remoteLoad, ir.RemoteStore: remoteStore, ir.Peer: peer,
	ir.AllReduce: composite, ir.Barrier: composite, ir.Broadcast_: composite, ir.AllGather: composite,
	ir.ReduceScatter: composite, ir.AllToAll: composite,
}

// elsewhere are the kinds that no device function contains: the controller runs them.
var elsewhere = []*ir.Kind{ir.AllocWindow, ir.Window, ir.CommDomain}

func init() {
	// Here, not in the literal: call compiles functions, which look at the table.
	deviceTable[ir.Call] = call
	for _, k := range ir.Kinds() {
		if k.Map == ir.Elementwise && k.Scalar != "" {
			deviceTable[k] = elementwise
		}
	}
}

// composite kinds are library code: LowerCompositeOps must have run.
func composite(c *interp.Compiler, op *ir.Op) interp.Step {
	interp.Stop(&interp.Unsupported{Op: op, Func: c.Func()})
	return nil
}

// Handles reports whether device functions may contain such ops.
func Handles(k *ir.Kind) bool { return (&interp.Compiler{Table: deviceTable}).Handles(k) }
