package ir

import (
	"fmt"

	"ptoc/lang/source"
)

// Builder adds ops to a block of a function. Types are deduced as ops are added, and scalar ops on
// constants fold. Fields may be changed between ops.
type Builder struct {
	Func  *Func
	Block *Block
	Pos   int         // index at which the next op is inserted; -1: at the end
	Span  source.Span // given to every op
}

// NewBuilder appends to block.
func NewBuilder(f *Func, block *Block) *Builder { return &Builder{Func: f, Block: block, Pos: -1} }

// Before inserts before the op at index i of block, and moves on behind what it inserted.
func Before(f *Func, block *Block, i int) *Builder { return &Builder{Func: f, Block: block, Pos: i} }

// At changes the span and returns b.
func (b *Builder) At(span source.Span) *Builder {
	b.Span = span
	return b
}

// Insert adds a finished op.
func (b *Builder) Insert(op *Op) {
	for _, r := range op.Regions {
		r.Parent = op
	}
	if b.Pos < 0 || b.Pos >= len(b.Block.Ops) {
		b.Block.Ops = append(b.Block.Ops, op)
		if b.Pos >= 0 {
			b.Pos = len(b.Block.Ops)
		}
		return
	}
	ops := append(b.Block.Ops, nil)
	copy(ops[b.Pos+1:], ops[b.Pos:])
	ops[b.Pos] = op
	b.Block.Ops = ops
	b.Pos++
}

// OpBuilder is an op that is being put together.
type OpBuilder struct {
	b     *Builder
	op    *Op
	names []string
}

// Add starts an op; Done, Must or Value inserts it.
func (b *Builder) Add(k *Kind) *OpBuilder { return &OpBuilder{b: b, op: NewOp(k, b.Span)} }

// Set gives operands to a parameter; without values an empty list.
func (o *OpBuilder) Set(param string, vals ...*Value) *OpBuilder {
	o.op.Set(param, vals...)
	return o
}

// SetAttr gives an attribute to a parameter.
func (o *OpBuilder) SetAttr(param string, v any) *OpBuilder {
	o.op.SetAttr(param, v)
	return o
}

// Name gives name hints to the results.
func (o *OpBuilder) Name(names ...string) *OpBuilder {
	o.names = names
	return o
}

// Done deduces the results and inserts the op. The error is a *TypeError.
func (o *OpBuilder) Done() (*Op, error) {
	if err := o.b.deduce(o.op, o.names); err != nil {
		return nil, err
	}
	o.b.Insert(o.op)
	return o.op, nil
}

// Must is Done for passes that know the op to be right.
func (o *OpBuilder) Must() *Op {
	op, err := o.Done()
	if err != nil {
		panic(fmt.Sprintf("ir: building %s: %v", o.op.Kind.Name, err))
	}
	return op
}

// Value is the op's result, or the constant that the op folds to, in which case nothing is inserted.
func (o *OpBuilder) Value() (*Value, error) {
	if err := CheckOperands(o.op); err != nil {
		return nil, err
	}
	if v := Fold(o.op, FoldsExactly(o.b.Func.Kind)); v != nil {
		return v, nil
	}
	op, err := o.Done()
	if err != nil {
		return nil, err
	}
	return op.Result(), nil
}

// MustValue is Value for passes that know the op to be right.
func (o *OpBuilder) MustValue() *Value {
	v, err := o.Value()
	if err != nil {
		panic(fmt.Sprintf("ir: building %s: %v", o.op.Kind.Name, err))
	}
	return v
}

// deduce checks operands and sets op.Results.
func (b *Builder) deduce(op *Op, names []string) error {
	if err := CheckOperands(op); err != nil {
		return err
	}
	return b.results(op, names)
}

func (b *Builder) results(op *Op, names []string) error {
	if op.Kind.Result == nil {
		return nil
	}
	ts, err := op.Kind.Result(op)
	if err != nil {
		return err
	}
	op.Results = nil
	for i, t := range ts {
		name := ""
		if i < len(names) {
			name = names[i]
		}
		v := b.Func.NewValue(name, t)
		v.Def = op
		op.Results = append(op.Results, v)
	}
	return nil
}

// Binary is k applied to two operands, folded if both are constants.
func (b *Builder) Binary(k *Kind, x, y *Value) (*Value, error) {
	return b.Add(k).Set(k.Params[0].Name, x).Set(k.Params[1].Name, y).Value()
}

// Unary is k applied to one operand.
func (b *Builder) Unary(k *Kind, x *Value) (*Value, error) {
	return b.Add(k).Set(k.Params[0].Name, x).Value()
}

// Compare compares with one of CmpType's values ("LT").
func (b *Builder) Compare(how string, x, y *Value) (*Value, error) {
	return b.Add(Cmp).Set("lhs", x).Set("rhs", y).SetAttr("cmp_type", CmpType.Of(how)).Value()
}

// Select is x where mask, y elsewhere.
func (b *Builder) Select(mask, x, y *Value) (*Value, error) {
	return b.Add(Select).Set("mask", mask).Set("lhs", x).Set("rhs", y).Value()
}

// Cast converts to dt; a value that has that type already is returned as it is.
func (b *Builder) Cast(x *Value, dt DType) (*Value, error) {
	if DTypeOf(x.Type) == dt {
		return x, nil
	}
	return b.Add(Cast).Set("x", x).SetAttr("target_type", dt).Value()
}

// Dim is d as an INDEX value: a constant where d depends on no run-time value, ops otherwise.
func (b *Builder) Dim(d Dim) *Value {
	if !d.HasValues() {
		return DimValue(d)
	}
	var sum *Value
	d.Terms(func(coef int64, atoms []Atom) {
		t := b.dimTerm(coef, atoms)
		if sum == nil {
			sum = t
		} else {
			sum = b.mustBinary(Add, sum, t)
		}
	})
	return sum
}

// Dims maps Dim.
func (b *Builder) Dims(ds []Dim) []*Value {
	out := make([]*Value, len(ds))
	for i, d := range ds {
		out[i] = b.Dim(d)
	}
	return out
}

func (b *Builder) dimTerm(coef int64, atoms []Atom) *Value {
	t := Index(coef)
	for _, a := range atoms {
		var v *Value
		switch a.Op {
		case AtomSym:
			v = DimValue(SymDim(a.Sym))
		case AtomVal:
			v = a.Val
		default:
			k := map[AtomOp]*Kind{AtomDiv: FloorDivide, AtomMod: Modulo, AtomMin: Minimum, AtomMax: Maximum}[a.Op]
			v = b.mustBinary(k, b.Dim(a.A), b.Dim(a.B))
		}
		if n, ok := t.ConstInt(); ok && n == 1 {
			t = v
		} else {
			t = b.mustBinary(Mul, v, t)
		}
	}
	return t
}

func (b *Builder) mustBinary(k *Kind, x, y *Value) *Value {
	v, err := b.Binary(k, x, y)
	if err != nil {
		panic(fmt.Sprintf("ir: building %s: %v", k.Name, err))
	}
	return v
}

// region adds a region to op and a builder for it.
func (b *Builder) region(op *Op) *Builder {
	r := &Block{Parent: op}
	op.Regions = append(op.Regions, r)
	return &Builder{Func: b.Func, Block: r, Pos: -1, Span: b.Span}
}

// For adds a counting loop. body's first block argument is the counter, the others are the carried
// values; the results exist already. End the body with Yield if anything is carried.
func (b *Builder) For(kind string, start, stop, step *Value, inits ...*Value) (op *Op, body *Builder) {
	op = NewOp(For, b.Span).Set("start", start).Set("stop", stop).Set("step", step)
	if kind != "range" {
		op.SetAttr("kind", LoopKind.Of(kind))
	}
	body = b.region(op)
	b.Func.NewBlockArg(body.Block, "i", &Scalar{INDEX})
	b.carry(op, body, inits)
	return op, body
}

// While adds a while loop; see For. The body needs a Cond.
func (b *Builder) While(inits ...*Value) (op *Op, body *Builder) {
	op = NewOp(While, b.Span)
	body = b.region(op)
	b.carry(op, body, inits)
	return op, body
}

func (b *Builder) carry(op *Op, body *Builder, inits []*Value) {
	if len(inits) > 0 {
		op.Set("init_values", inits...)
	}
	names := make([]string, len(inits))
	for i, v := range inits {
		names[i] = v.Name
		b.Func.NewBlockArg(body.Block, v.Name, v.Type)
	}
	if err := b.results(op, names); err != nil {
		panic(err) // a loop's results are its initial values' types
	}
	b.Insert(op)
}

// If adds a branch with two empty regions. End both with Yield and call Finish if it has results.
func (b *Builder) If(cond *Value) (op *Op, then, els *Builder) {
	op = NewOp(If, b.Span).Set("cond", cond)
	then, els = b.region(op), b.region(op)
	b.Insert(op)
	return op, then, els
}

// Fused adds a fused loop; body's block arguments are the elements of ins. End the body with Yield
// and call Finish.
func (b *Builder) Fused(ins, outs, shape []*Value) (op *Op, body *Builder) {
	op = NewOp(Fused, b.Span).Set("ins", ins...).Set("outs", outs...).Set("shape", shape...)
	body = b.region(op)
	for _, v := range ins {
		b.Func.NewBlockArg(body.Block, v.Name, &Scalar{DTypeOf(v.Type)})
	}
	b.Insert(op)
	return op, body
}

// Finish deduces the results of an op whose regions are complete now (If, Fused).
func (b *Builder) Finish(op *Op, names ...string) error { return b.deduce(op, names) }

// Call adds a call; the results are there if f is an inline function that returns values.
func (b *Builder) Call(f *Func, args ...*Value) (*Op, error) {
	return b.Add(Call).SetAttr("callee", f).Set("args", args...).Done()
}

// Yield ends a region.
func (b *Builder) Yield(vals ...*Value) *Op { return b.Add(Yield).Set("values", vals...).Must() }

// Cond leaves the while loop whose body b builds if c is false.
func (b *Builder) Cond(c *Value) *Op { return b.Add(Cond).Set("cond", c).Must() }

// Return ends the function.
func (b *Builder) Return(vals ...*Value) *Op { return b.Add(Return).Set("values", vals...).Must() }
