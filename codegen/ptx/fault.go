package ptx

import (
	ll "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"

	"ptoc/codegen/abi"
	"ptoc/ir"
)

// All faults of a kernel meet in one block that records them and returns: a call in its place would make the
// kernel obey the calling convention, and spill registers for it.

// fault is an edge to that block.
type fault struct {
	from     *ll.Block
	code     val // 0 in a thread that has nothing to record
	site     int
	operands []val
}

// check ends the kernel with a fault where bad holds, which it does for all threads or for none.
func (e *fn) check(op *ir.Op, bad val, code abi.Code, operands ...val) {
	e.stopIf(bad, fault{code: i32(int64(code)), site: e.site(op), operands: operands})
}

func (e *fn) stopIf(bad val, f fault) {
	if e.kernel.fault == nil {
		e.kernel.fault = e.label("fault")
	}
	ok := e.label("ok")
	f.from = e.b
	e.b.NewCondBr(bad, e.kernel.fault, ok)
	e.kernel.faults = append(e.kernel.faults, f)
	e.at(ok)
}

// operands of a fault: V of an abi.Fault.
const operands = 6

// faultBlock records the fault that came first.
func (k *kernel) faultBlock() {
	if k.fault == nil {
		return
	}
	k.at(k.fault)
	code, site := k.meet(func(f fault) val { return f.code }), k.meet(func(f fault) val { return i32(int64(f.site)) })
	var vs []val
	for i := range operands {
		vs = append(vs, k.meet(func(f fault) val {
			if i < len(f.operands) {
				return f.operands[i]
			}
			return i64(0)
		}))
	}
	k.record(code, site, vs)
	k.b.NewRet(nil)
}

// meet is what the edges hand on.
func (k *kernel) meet(of func(f fault) val) val {
	var incs []*ll.Incoming
	for _, f := range k.faults {
		incs = append(incs, incoming(of(f), f.from))
	}
	return k.b.NewPhi(incs...)
}

// record writes a fault unless there is one.
func (k *kernel) record(code, site val, operands []val) {
	args := append([]val{k.pointerAt(k.ctx, abi.Offset[abi.GPUCtx]("Fault")), code, site}, operands...)
	for len(args) < 9 {
		args = append(args, i64(0))
	}
	f := k.g.helper("ptoc_fail", types.Void, bytesIn(global), types.I32, types.I32, types.I64, types.I64, types.I64, types.I64, types.I64, types.I64)
	k.b.NewCall(f, args...)
}

// checkElement records a fault of one element of a spread loop; the loop's end then ends the kernel.
func (e *fn) checkElement(op *ir.Op, bad val, code abi.Code, operands ...val) {
	e.when("wrong", bad, func() {
		e.record(i32(int64(code)), i32(int64(e.site(op))), operands)
		e.b.NewStore(bit(true), e.faulted)
	})
}
