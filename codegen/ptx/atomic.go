package ptx

import (
	"fmt"
	"strings"

	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"ptoc/ir"
)

// atomicAdd adds to memory that others may add to at the same time.
func (e *fn) atomicAdd(x, p val, dt ir.DType) {
	switch dt {
	case ir.FP32:
		e.asm(types.Void, "red.relaxed.sys.global.add.f32 [$0], $1;", "l,f", p, x)
	case ir.INT32:
		e.asm(types.Void, "red.relaxed.sys.global.add.u32 [$0], $1;", "l,r", p, x)
	case ir.INT64, ir.INDEX:
		e.asm(types.Void, "red.relaxed.sys.global.add.u64 [$0], $1;", "l,l", p, x)
	case ir.FP16:
		e.asm(types.Void, "red.relaxed.sys.global.add.noftz.f16 [$0], $1;", "l,h", p, e.b.NewBitCast(e.toMemory(x, dt), types.I16))
	default:
		e.atomicSwap(x, p, dt)
	}
}

// atomicSwap adds by compare and swap, of an element of 16 bits alone, of one of 8 bits within the 32-bit word around it.
func (e *fn) atomicSwap(x, p val, dt ir.DType) {
	if dt.Size() == 2 {
		e.swap(p, types.I16, "h", func(old val) val { return e.toMemory(e.addAs(e.fromMemory(old, dt), x, dt), dt) })
		return
	}
	at := e.b.NewPtrToInt(p, types.I64)
	word := e.b.NewIntToPtr(e.b.NewAnd(at, i64(-4)), bytesIn(global))
	shift := e.b.NewTrunc(e.b.NewMul(e.b.NewAnd(at, i64(3)), i64(8)), types.I32)
	e.swap(word, types.I32, "r", func(old val) val {
		part := e.b.NewTrunc(e.b.NewLShr(old, shift), types.I8)
		sum := e.toMemory(e.addAs(e.fromMemory(part, dt), x, dt), dt)
		rest := e.b.NewAnd(old, e.b.NewXor(e.b.NewShl(i32(0xff), shift), i32(-1)))
		return e.b.NewOr(rest, e.b.NewShl(e.b.NewZExt(sum, types.I32), shift))
	})
}

// swap replaces what is at p by next of it, whatever others do to it at the same time; reg is what a register of type t
// is called in constraints.
func (e *fn) swap(p val, t *types.IntType, reg string, next func(old val) val) {
	first := e.asm(t, fmt.Sprintf("ld.relaxed.sys.global.u%d $0, [$1];", t.BitSize), "="+reg+",l", p)
	from, head, out := e.b, e.label("swap"), e.label("swapped")
	e.b.NewBr(head)
	e.at(head)
	old := head.NewPhi(incoming(first, from))
	text := fmt.Sprintf("atom.relaxed.sys.global.cas.b%d $0, [$1], $2, $3;", t.BitSize)
	seen := e.asm(t, text, strings.ReplaceAll("=R,l,R,R", "R", reg), p, old, next(old))
	old.Incs = append(old.Incs, incoming(seen, e.b))
	e.b.NewCondBr(e.icmp(enum.IPredEQ, seen, old), out, head)
	e.at(out)
}

func (e *fn) addAs(x, y val, dt ir.DType) val {
	if dt.IsFloat() {
		return e.b.NewFAdd(x, y)
	}
	return e.b.NewAdd(x, y)
}
