package passes

import (
	"fmt"

	"ptoc/ir"
)

// Where memory values come from: shared by the passes on windows and signals.

// windowOf is the pld.window op that v views, or nil if v comes from elsewhere (a parameter).
func windowOf(v *ir.Value) *ir.Op {
	root, _ := ir.Root(v)
	if root != nil && root.Def != nil && root.Def.Kind == ir.Window {
		return root.Def
	}
	return nil
}

// allocOf is the allocation that v views, or nil.
func allocOf(v *ir.Value) *ir.Op {
	if w := windowOf(v); w != nil {
		return w.Val("buffer").Def
	}
	return nil
}

// contiguous reports whether v's elements lie one after the other in its root. Parameters,
// allocations and windows do.
func contiguous(v *ir.Value) bool {
	if v.Def == nil {
		return true
	}
	switch v.Def.Kind {
	case ir.Reshape:
		return true // reshape takes only contiguous memory
	case ir.Peer:
		return contiguous(v.Def.Val("target"))
	case ir.Slice:
		return contiguous(v.Def.Val("x")) && sliceIsRun(v.Def)
	}
	return true
}

// sliceIsRun reports whether a slice of contiguous memory is one run of it: after the first extent
// that is not 1, every dimension is taken whole.
func sliceIsRun(op *ir.Op) bool {
	full, shape := ir.ShapeOf(op.Val("x").Type), ir.DimsOf(op.Vals("shape"))
	i := 0
	for i < len(shape) && shape[i].Is(1) {
		i++
	}
	for i++; i < len(shape); i++ {
		if !shape[i].Equal(full[i]) {
			return false
		}
	}
	return true
}

// flatten views contiguous memory in another shape; v itself if it has that shape.
func flatten(b *ir.Builder, v *ir.Value, shape ...ir.Dim) *ir.Value {
	if ir.DimsEqual(ir.ShapeOf(v.Type), shape) {
		return v
	}
	return b.Add(ir.Reshape).Set("x", v).Set("shape", b.Dims(shape)...).Name(v.Name + "_flat").Must().Result()
}

// forEachOp calls fn for every op of f with the block and the index where it stands, until fn says
// that it has changed the block: then that block is walked again.
func forEachOp(f *ir.Func, fn func(b *ir.Block, i int) (changed bool)) {
	var walk func(b *ir.Block)
	walk = func(b *ir.Block) {
		for i := 0; i < len(b.Ops); i++ {
			if fn(b, i) {
				i = -1
				continue
			}
		}
		for _, op := range b.Ops {
			for _, r := range op.Regions {
				walk(r)
			}
		}
	}
	walk(f.Body)
}

// freshFuncName is base, or base with a number if m has such a function already.
func freshFuncName(m *ir.Module, base string) string {
	return fresh(base, func(s string) bool { return m.Func(s) != nil })
}

func fresh(base string, taken func(string) bool) string {
	name := base
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}
