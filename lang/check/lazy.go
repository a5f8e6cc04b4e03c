package check

import (
	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// and, or and conditional expressions evaluate an operand only if it is needed. Where that cannot be
// seen, because the operand only computes, both are evaluated and combined; otherwise it becomes a
// branch.

// scratch collects the ops of an expression aside.
func (f *fn) scratch(x syntax.Expr) (value, *ir.Block) {
	outer := f.b.Block
	f.b.Block = &ir.Block{Parent: outer.Parent}
	v := f.expr(x)
	block := f.b.Block
	f.b.Block = outer
	return v, block
}

// splice moves ops that were collected aside into the current block.
func (f *fn) splice(b *ir.Block) { f.b.Block.Ops = append(f.b.Block.Ops, b.Ops...) }

// total reports whether the ops can be evaluated when they need not be: they only compute, and cannot
// fail.
func total(b *ir.Block) bool {
	for _, op := range b.Ops {
		if !op.Kind.Pure() {
			return false
		}
		switch op.Kind {
		case ir.FloorDivide, ir.Modulo:
			if n, ok := op.Val("rhs").ConstInt(); !ok || n == 0 {
				return false
			}
		case ir.ShiftLeft, ir.ShiftRight, ir.ArrayGet, ir.ArraySet, ir.Slice, ir.Reshape:
			return false
		}
	}
	return true
}

func (f *fn) logic(x *syntax.Binary) value {
	a := f.expr(x.X)
	if isBad(a) {
		return a
	}
	isAnd := x.Op == syntax.And
	if known, ok := asBool(a); ok {
		if known != isAnd {
			return known
		}
		return f.truth(x.Y)
	}
	if f.f == nil {
		f.notBool(x.X, a)
		return bad{}
	}
	if t := f.operand(a); t == nil || !isBoolType(t.Type) {
		f.notBool(x.X, a)
		return bad{}
	}
	b, block := f.scratch(x.Y)
	if isBad(b) {
		return b
	}
	y := f.operand(b)
	if y == nil || !isBoolType(y.Type) {
		f.notBool(x.Y, b)
		return bad{}
	}
	if known, ok := asBool(b); ok && total(block) {
		if known == isAnd {
			return a
		}
		return known
	}
	return f.logicOp(x, f.operand(a), y, block)
}

func (f *fn) truth(x syntax.Expr) value {
	v := f.expr(x)
	if isBad(v) || f.isBool(v) {
		return v
	}
	if t := f.operand(v); t != nil && isBoolType(t.Type) {
		return v
	}
	f.notBool(x, v)
	return bad{}
}

func (f *fn) logicOp(x *syntax.Binary, a, b *ir.Value, block *ir.Block) value {
	_, aScalar := a.Type.(*ir.Scalar)
	_, bScalar := b.Type.(*ir.Scalar)
	if total(block) || !aScalar || !bScalar {
		f.splice(block)
		d, e := f.data(a, x.X.Span()), f.data(b, x.Y.Span())
		if d == nil || e == nil {
			return bad{}
		}
		f.b.Span = x.At
		v, err := f.b.Binary(binaryKinds[x.Op], d, e)
		return f.result(v, err, argSpans{whole: x.At, of: map[string]source.Span{"lhs": x.X.Span(), "rhs": x.Y.Span()}})
	}
	short := &ir.Block{}
	if x.Op == syntax.And {
		return f.lazy(a, block, short, b, ir.BoolValue(false), x.At)
	}
	return f.lazy(a, short, block, ir.BoolValue(true), b, x.At)
}

// lazy is a branch that results in one value.
func (f *fn) lazy(cond *ir.Value, then, els *ir.Block, x, y *ir.Value, at source.Span) value {
	op := ir.NewOp(ir.If, at).Set("cond", cond)
	op.Regions = []*ir.Block{then, els}
	for _, r := range op.Regions {
		r.Parent = op
	}
	f.yieldInto(then, []*ir.Value{x}, at)
	f.yieldInto(els, []*ir.Value{y}, at)
	f.b.Span = at
	f.b.Insert(op)
	if err := f.b.Finish(op); err != nil {
		f.typeError(err, argSpans{whole: at})
		return bad{}
	}
	return op.Result()
}

// choose is `a if c else b`.
func (f *fn) choose(x *syntax.Cond) value {
	c := f.condition(x.If)
	if isBad(c) {
		return c
	}
	if known, ok := asBool(c); ok {
		if known {
			return f.expr(x.Then)
		}
		return f.expr(x.Else)
	}
	if f.f == nil {
		f.errorf(diag.NotConstant, x.If.Span(), "this condition is not a constant")
		return bad{}
	}
	a, then := f.scratch(x.Then)
	b, els := f.scratch(x.Else)
	if anyBad(a, b) {
		return bad{}
	}
	if sameValue(a, b) && len(then.Ops)+len(els.Ops) == 0 {
		return a
	}
	u, v, reason := f.unify(a, b, then, els)
	if reason != "" {
		f.errorf(diag.BranchType, x.At, "the value %s", reason)
		return bad{}
	}
	if _, mem := u.Type.(*ir.Tensor); mem {
		return u
	}
	if _, scalar := u.Type.(*ir.Scalar); scalar && total(then) && total(els) {
		f.splice(then)
		f.splice(els)
		f.b.Span = x.At
		r, err := f.b.Select(f.operand(c), u, v)
		return f.result(r, err, argSpans{whole: x.At})
	}
	if leak := innerValue(u.Type, then); leak != nil {
		f.errorf(diag.BranchType, x.At, "the extents of this value depend on %s, which exists only in one arm", valueName(leak))
		return bad{}
	}
	return f.lazy(f.operand(c), then, els, u, v, x.At)
}

// Small ops that desugaring needs; nil operands (after an error) give nil.

func (f *fn) and(a, b *ir.Value) *ir.Value { return f.arith(ir.LogicalAnd, a, b) }
func (f *fn) or(a, b *ir.Value) *ir.Value  { return f.arith(ir.LogicalOr, a, b) }

func (f *fn) arith(k *ir.Kind, a, b *ir.Value) *ir.Value {
	if a == nil || b == nil {
		return nil
	}
	v, err := f.b.Binary(k, a, b)
	if err != nil {
		return nil
	}
	return v
}

func (f *fn) not(a *ir.Value) *ir.Value {
	if a == nil {
		return nil
	}
	v, err := f.b.Unary(ir.Not, a)
	if err != nil {
		return nil
	}
	return v
}

func (f *fn) compareOp(how string, a, b *ir.Value) *ir.Value {
	if a == nil || b == nil {
		return nil
	}
	v, err := f.b.Compare(how, a, b)
	if err != nil {
		return nil
	}
	return v
}
