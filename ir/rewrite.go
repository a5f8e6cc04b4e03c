package ir

import (
	"fmt"
	"slices"
)

// Walk calls fn for every op of the function, outer before inner, in program order.
func (f *Func) Walk(fn func(*Op)) { f.Body.Walk(fn) }

// WalkBlocks calls fn for every block, outer before inner.
func (f *Func) WalkBlocks(fn func(*Block)) { walkBlocks(f.Body, fn) }

func walkBlocks(b *Block, fn func(*Block)) {
	fn(b)
	for _, op := range b.Ops {
		for _, r := range op.Regions {
			walkBlocks(r, fn)
		}
	}
}

// Use is one operand position.
type Use struct {
	Op    *Op
	Param int // index into Op.Args
	Index int // index into Op.Args[Param].Vals
}

// Uses lists where every value of f is used, constants left out. Values mentioned only in the dims of
// a type are not uses. The map describes f as it is now; it does not follow changes.
func Uses(f *Func) map[*Value][]Use {
	uses := make(map[*Value][]Use, f.nextID)
	f.Walk(func(op *Op) {
		for i := range op.Args {
			for j, v := range op.Args[i].Vals {
				if !v.IsConst() {
					uses[v] = append(uses[v], Use{op, i, j})
				}
			}
		}
	})
	return uses
}

// ReplaceAll puts new wherever old is an operand. Call Retype afterwards.
func (f *Func) ReplaceAll(old, new *Value) { f.Replace(map[*Value]*Value{old: new}) }

// Replace replaces operands by the map, following chains in it. Call Retype afterwards.
func (f *Func) Replace(by map[*Value]*Value) {
	if len(by) > 0 {
		f.Walk(func(op *Op) { replaceOperands(op, by) })
	}
}

func replaceOperands(op *Op, by map[*Value]*Value) {
	for i := range op.Args {
		vals := op.Args[i].Vals
		for j, v := range vals {
			if w, ok := resolve(by, v); ok {
				vals[j] = w
			}
		}
	}
}

func resolve(by map[*Value]*Value, v *Value) (*Value, bool) {
	w, ok := by[v]
	if !ok {
		return v, false
	}
	for {
		next, more := by[w]
		if !more || next == w {
			return w, true
		}
		w = next
	}
}

// RemoveOps removes the ops of b, and of every block inside it, that drop asks for.
func RemoveOps(b *Block, drop func(*Op) bool) {
	b.Ops = slices.DeleteFunc(b.Ops, func(op *Op) bool {
		if drop(op) {
			return true
		}
		for _, r := range op.Regions {
			RemoveOps(r, drop)
		}
		return false
	})
}

// Retype deduces the types of f's values again, from its parameters on, after values were replaced.
// It keeps the invariants that reading printed IR relies on: scalar ops on constants fold, and an if
// whose condition has become constant is replaced by the arm that it takes. The error is a
// *RetypeError: the first op that does not fit its operands any more.
func Retype(f *Func) error {
	r := &retyper{exact: FoldsExactly(f.Kind), by: map[*Value]*Value{}}
	return r.block(f.Body)
}

// RetypeError says which op does not type any more.
type RetypeError struct {
	Op  *Op
	Err error
}

func (e *RetypeError) Error() string { return e.Err.Error() }
func (e *RetypeError) Unwrap() error { return e.Err }

type retyper struct {
	exact bool
	by    map[*Value]*Value
}

func (r *retyper) block(b *Block) (err error) {
	b.Ops, err = r.ops(b.Ops, make([]*Op, 0, len(b.Ops)))
	return err
}

func (r *retyper) ops(ops, out []*Op) ([]*Op, error) {
	var err error
	for _, op := range ops {
		if len(r.by) > 0 {
			replaceOperands(op, r.by)
		}
		if v := Fold(op, r.exact); v != nil && len(op.Results) == 1 {
			r.by[op.Results[0]] = v
			continue
		}
		if op.Kind == If && op.Val("cond").IsConst() {
			if out, err = r.splice(op, out); err != nil {
				return out, err
			}
			continue
		}
		if err := r.op(op); err != nil {
			return out, err
		}
		out = append(out, op)
	}
	return out, nil
}

// splice puts the taken arm in place of the if.
func (r *retyper) splice(op *Op, out []*Op) ([]*Op, error) {
	arm := op.Regions[0]
	if !op.Val("cond").Const.B {
		arm = op.Regions[1]
	}
	ops := arm.Ops
	end := arm.Terminator()
	if end != nil {
		ops = ops[:len(ops)-1]
	}
	out, err := r.ops(ops, out)
	if err != nil || end == nil {
		return out, err
	}
	replaceOperands(end, r.by)
	for i, v := range end.Vals("values") {
		r.by[op.Results[i]] = v
	}
	return out, nil
}

func (r *retyper) op(op *Op) error {
	r.regionArgs(op)
	for _, b := range op.Regions {
		if err := r.block(b); err != nil {
			return err
		}
	}
	if err := CheckOperands(op); err != nil {
		return &RetypeError{op, err}
	}
	if op.Kind.Result == nil {
		return nil
	}
	ts, err := op.Kind.Result(op)
	if err != nil {
		return &RetypeError{op, err}
	}
	if len(ts) != len(op.Results) {
		return &RetypeError{op, fmt.Errorf("%s has %d results, its operands give %d", op.Kind.Name, len(op.Results), len(ts))}
	}
	for i, t := range ts {
		op.Results[i].Type = t
	}
	return nil
}

// regionArgs gives the arguments of op's region their types.
func (r *retyper) regionArgs(op *Op) {
	if len(op.Regions) == 0 {
		return
	}
	args := op.Regions[0].Args
	for i, t := range regionArgTypes(op) {
		if i < len(args) {
			args[i].Type = t
		}
	}
}

// regionArgTypes are the types of the arguments that op's (first) region has.
func regionArgTypes(op *Op) []Type {
	switch op.Kind {
	case For:
		return append([]Type{&Scalar{INDEX}}, typesOf(op.Vals("init_values"))...)
	case While:
		return typesOf(op.Vals("init_values"))
	case Fused:
		var out []Type
		for _, v := range op.Vals("ins") {
			out = append(out, &Scalar{DTypeOf(v.Type)})
		}
		return out
	}
	return nil
}
