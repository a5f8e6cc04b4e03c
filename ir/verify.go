package ir

import (
	"fmt"
	"slices"
)

// Verify checks everything that passes and executors rely on and gives every fault it finds, at most
// one per op. A module that the checker made or a pass left has none.
func Verify(m *Module) []error {
	v := &verifier{m: m, syms: map[string]bool{}, funcs: map[*Func]bool{}}
	for _, s := range m.Syms {
		v.syms[s] = true
	}
	names := map[string]bool{}
	for _, f := range m.Funcs {
		v.f = f
		v.funcs[f] = true
		if names[f.Name] {
			v.fail(nil, "two functions are called %s", f.Name)
		}
		if f.Name == "" || identifier(f.Name) != f.Name {
			v.fail(nil, "%q is not a function name", f.Name)
		}
		names[f.Name] = true
	}
	for _, f := range m.Funcs {
		v.fn(f)
	}
	return v.errs
}

// VerifyError is one fault that Verify found.
type VerifyError struct {
	Func *Func
	Op   *Op // nil: the function as a whole
	Msg  string
}

func (e *VerifyError) Error() string {
	s := "function " + e.Func.Name
	if e.Op != nil {
		s += ", " + e.Op.Kind.Name
		if e.Op.Span.IsValid() {
			s += " at " + e.Op.Span.String()
		}
	}
	return s + ": " + e.Msg
}

type verifier struct {
	m     *Module
	syms  map[string]bool
	funcs map[*Func]bool
	errs  []error

	f       *Func
	byID    []*Value // the value that has each id
	visible []bool   // by id: defined, and not left behind in a region
}

func (v *verifier) fail(op *Op, format string, args ...any) {
	v.errs = append(v.errs, &VerifyError{v.f, op, fmt.Sprintf(format, args...)})
}

func (v *verifier) fn(f *Func) {
	v.f = f
	v.byID, v.visible = make([]*Value, f.nextID+1), make([]bool, f.nextID+1)
	if len(f.Dirs) != len(f.Params()) {
		v.fail(nil, "%d directions for %d parameters", len(f.Dirs), len(f.Params()))
	}
	if f.Kind == Golden && v.m.Func(f.GoldenOf) == nil {
		v.fail(nil, "it specifies %q, which does not exist", f.GoldenOf)
	}
	if f.Body.Parent != nil {
		v.fail(nil, "its body belongs to an op")
	}
	v.block(nil, f.Body)
}

// define makes a value visible.
func (v *verifier) define(op *Op, what string, x *Value) {
	switch {
	case x == nil:
		v.fail(op, "a %s is nil", what)
	case x.IsConst():
		v.fail(op, "a %s is a constant", what)
	case x.ID <= 0 || x.ID >= len(v.byID):
		v.fail(op, "%s %s has id %d, outside of the function's", what, x.Name, x.ID)
	case v.byID[x.ID] == x:
		v.fail(op, "%s %s is defined twice", what, x.Name)
	case v.byID[x.ID] != nil:
		v.fail(op, "%s %s has the id %d of %s", what, x.Name, x.ID, v.byID[x.ID].Name)
	case x.Type == nil:
		v.fail(op, "%s %s has no type", what, x.Name)
	default:
		v.byID[x.ID] = x
		v.visible[x.ID] = true
		v.typeScope(op, x)
	}
}

// typeScope: the dims of a type mention visible values and declared symbols only.
func (v *verifier) typeScope(op *Op, x *Value) {
	check := func(ds []Dim) {
		for _, d := range ds {
			v.dimScope(op, d, x.Name)
		}
	}
	switch t := x.Type.(type) {
	case *Tensor:
		check(t.Dims)
	case *Tile:
		check(t.Dims)
		check(t.Cap)
	case *Buffer:
		check([]Dim{t.Bytes})
	}
}

func (v *verifier) dimScope(op *Op, d Dim, of string) {
	d.Walk(func(a Atom) {
		switch {
		case a.Op == AtomSym && !v.syms[a.Sym]:
			v.fail(op, "the type of %s uses the symbol %s, which is not declared", of, a.Sym)
		case a.Op == AtomVal && !v.isVisible(a.Val):
			v.fail(op, "the type of %s mentions %s, which is not visible there", of, a.Val.Name)
		}
	})
}

func (v *verifier) isVisible(x *Value) bool {
	return x.ID > 0 && x.ID < len(v.byID) && v.byID[x.ID] == x && v.visible[x.ID]
}

func (v *verifier) block(parent *Op, b *Block) {
	var hidden []*Value
	for _, x := range b.Args {
		v.define(parent, "block argument", x)
		if x != nil && x.Owner != b {
			v.fail(parent, "argument %s belongs to another block", x.Name)
		}
	}
	hidden = append(hidden, b.Args...)
	for i, op := range b.Ops {
		n := len(v.errs)
		v.op(b, op, i)
		for _, x := range op.Results {
			v.define(op, "result", x)
			if x != nil && x.Def != op {
				v.fail(op, "result %s belongs to another op", x.Name)
			}
		}
		if len(v.errs) > n+1 {
			v.errs = v.errs[:n+1]
		}
		hidden = append(hidden, op.Results...)
	}
	if parent == nil {
		return
	}
	for _, x := range hidden {
		if x != nil && x.ID > 0 && x.ID < len(v.visible) && v.byID[x.ID] == x {
			v.visible[x.ID] = false
		}
	}
}

func (v *verifier) op(b *Block, op *Op, i int) {
	defer func() {
		if r := recover(); r != nil { // a deduction that met what it could not imagine
			v.fail(op, "checking it failed: %v", r)
		}
	}()
	if len(op.Args) != len(op.Kind.Params) {
		v.fail(op, "%d arguments for %d parameters", len(op.Args), len(op.Kind.Params))
		return
	}
	for j := range op.Args {
		for _, x := range op.Args[j].Vals {
			v.operand(op, op.Kind.Params[j].Name, x)
		}
	}
	if !op.Kind.Where.Allows(v.f.Kind) {
		v.fail(op, "it may stand only in %s, not in a %s function", op.Kind.Where, v.f.Kind)
	}
	if err := CheckOperands(op); err != nil {
		v.fail(op, "%v", err)
		return
	}
	v.place(b, op, i)
	n := len(v.errs)
	v.regions(op)
	if len(v.errs) == n {
		v.results(op)
	}
	if Fold(op, FoldsExactly(v.f.Kind)) != nil {
		v.fail(op, "it has only constant operands and was not folded; call ir.Retype")
	}
}

func (v *verifier) operand(op *Op, param string, x *Value) {
	switch {
	case x == nil:
		v.fail(op, "%s is nil", param)
	case x.IsConst():
		if x.Const.Dim.HasValues() {
			v.fail(op, "%s is a constant that mentions a run-time value", param)
		}
		v.dimScope(op, x.Const.Dim, param)
	case !v.isVisible(x):
		v.fail(op, "%s uses %s, which is not visible there", param, x.Name)
	}
}

// place checks that op may stand at index i of b.
func (v *verifier) place(b *Block, op *Op, i int) {
	switch op.Kind {
	case Yield:
		if b.Parent == nil {
			v.fail(op, "it stands in a function body; pl.return ends those")
		}
	case Return:
		if b.Parent != nil {
			v.fail(op, "it stands inside %s", b.Parent.Kind.Name)
		}
		v.returned(op)
	case Cond:
		if b.Parent == nil || b.Parent.Kind != While {
			v.fail(op, "it stands outside of a while loop's own block")
		}
	case Call:
		v.call(op)
	}
	if op.Kind.Terminator && i != len(b.Ops)-1 {
		v.fail(op, "ops follow it")
	}
	if b.Parent != nil && b.Parent.Kind == Fused && op.Kind != Yield && (op.Kind.Scalar == "" || len(op.Regions) > 0) {
		v.fail(op, "it is no scalar op but stands in a pl.fused")
	}
}

// returned: except where values may be returned, they are the function's memory.
func (v *verifier) returned(op *Op) {
	if v.f.Kind == Inline || v.f.Kind == Golden {
		return
	}
	for _, x := range op.Vals("values") {
		if x.Owner != v.f.Body {
			v.fail(op, "it returns %s, which is not a parameter", x.Name)
		}
	}
}

func (v *verifier) call(op *Op) {
	f := op.Callee()
	switch {
	case !v.funcs[f]:
		v.fail(op, "it calls %s, which is not in the module", f.Name)
	case f.Kind == Host || f.Kind == Golden:
		v.fail(op, "it calls %s, a %s function", f.Name, f.Kind)
	case op.Val("device") != nil && v.f.Kind != Host && v.f.Kind != Inline:
		v.fail(op, "it dispatches to a device from a %s function", v.f.Kind)
	case v.f.Kind == InCore && f.Kind == Chip:
		v.fail(op, "it calls %s, a chip function, from a kernel", f.Name)
	case v.f.Kind == Golden && f.Kind != Inline:
		v.fail(op, "it calls %s, which runs on ranks, from a golden function", f.Name)
	}
}

var regionCounts = map[*Kind]int{For: 1, While: 1, If: 2, Fused: 1, CommDomain: 1}

func (v *verifier) regions(op *Op) {
	if want := regionCounts[op.Kind]; len(op.Regions) != want {
		v.fail(op, "it has %d regions instead of %d", len(op.Regions), want)
		return
	}
	want := regionArgTypes(op)
	for i, r := range op.Regions {
		if r.Parent != op {
			v.fail(op, "its region belongs to another op")
		}
		if len(r.Args) != len(want) {
			v.fail(op, "its region has %d arguments instead of %d", len(r.Args), len(want))
			return
		}
		for j, x := range r.Args {
			if x != nil && x.Type != nil && !TypesEqual(x.Type, want[j]) {
				v.fail(op, "region argument %s is a %s instead of a %s", x.Name, x.Type, want[j])
			}
		}
		v.block(op, r)
		if i == 0 && op.Kind == While {
			n := 0
			for _, inner := range r.Ops {
				if inner.Kind == Cond {
					n++
				}
			}
			if n != 1 {
				v.fail(op, "it has %d conditions instead of one", n)
			}
		}
	}
}

// results checks that deduction gives the types that the results have, and that regions hand on what
// the op gives.
func (v *verifier) results(op *Op) {
	var ts []Type
	if op.Kind.Result != nil {
		var err error
		if ts, err = op.Kind.Result(op); err != nil {
			v.fail(op, "%v", err)
			return
		}
	}
	if len(ts) != len(op.Results) {
		v.fail(op, "it has %d results, its operands give %d", len(op.Results), len(ts))
		return
	}
	for i, t := range ts {
		if x := op.Results[i]; x != nil && !TypesEqual(t, x.Type) {
			v.fail(op, "result %s is a %s, its operands give a %s", x.Name, x.Type, t)
		}
	}
	switch op.Kind {
	case For, While, If:
		for _, r := range op.Regions {
			v.yields(op, r, ts)
		}
	case Fused:
		v.yields(op, op.Regions[0], v.fusedYields(op))
	case CommDomain:
		v.yields(op, op.Regions[0], nil)
	}
	if op.Kind == For {
		v.forLoop(op)
	}
	if op.Kind == If && op.Val("cond").IsConst() {
		v.fail(op, "its condition is a constant; call ir.Retype")
	}
}

func (v *verifier) fusedYields(op *Op) []Type {
	var want []Type
	for _, o := range op.Vals("outs") {
		want = append(want, &Scalar{DTypeOf(o.Type)})
	}
	for _, r := range op.Results {
		want = append(want, &Scalar{DTypeOf(r.Type)})
	}
	return want
}

func (v *verifier) yields(op *Op, r *Block, want []Type) {
	var got []*Value
	if t := r.Terminator(); t != nil {
		got = t.Vals("values")
	}
	if len(got) != len(want) {
		v.fail(op, "its region yields %d values instead of %d", len(got), len(want))
		return
	}
	for i, x := range got {
		if _, mem := x.Type.(*Tensor); mem {
			v.fail(op, "its region yields %s, which is memory", x.Name)
		}
		if !TypesEqual(x.Type, want[i]) {
			v.fail(op, "its region yields %s, a %s, instead of a %s", x.Name, x.Type, want[i])
		}
	}
}

func (v *verifier) forLoop(op *Op) {
	if n, ok := op.Val("step").ConstInt(); ok && n == 0 {
		v.fail(op, "its step is 0")
	}
	if op.Enum("kind").Is("spmd") && !(isIndexConst(op.Val("start"), 0) && isIndexConst(op.Val("step"), 1)) {
		v.fail(op, "the blocks of pl.spmd start at 0 and count by 1")
	}
	if slices.ContainsFunc(op.Results, func(x *Value) bool { return x.Type == nil }) {
		v.fail(op, "a result has no type")
	}
}
