package passes

import (
	"errors"
	"fmt"
	"math"

	"ptoc/ir"
	"ptoc/lang/diag"
)

// simplify does at compile time what does not need to wait for run time, and drops what nobody needs.
//
//	Before:                                        After:
//	for k in pl.unroll(2):                         a = pl.load(x, [0, 0], [1, 8])
//	    off = k * 8                                pl.store(a, [0, 0], y)
//	    a = pl.load(x, [0, off], [1, 8])           a_1 = pl.load(x, [0, 8], [1, 8])
//	    dead = pl.load(x, [0, 0], [1, 8])          pl.store(a_1, [0, 8], y)
//	    pl.store(a, [0, off], y)                   base = n * 2
//	for i in pl.range(n):                          for i in pl.range(n):
//	    base = n * 2                                   pl.write(z, [i], base)
//	    pl.write(z, [i], base)
//
// It folds constants, dims and booleans; merges equal scalar ops and views of views; takes branches
// whose condition is known; writes out pl.unroll loops and loops that run at most once; moves scalar
// ops that a loop does not change in front of it; removes ops whose results nobody uses and that have
// no effect (a load is one: if it would fail, it fails no more). Floating-point results keep every bit.
// Afterwards no pl.unroll is left and no rule applies any more, so a second run changes nothing.
func simplify(m *ir.Module, c *Context) {
	for _, f := range m.Funcs {
		simplifyFunc(f, c)
	}
}

// maxRounds bounds the repetition: two rules that undo each other must end as an error that names this pass,
// not as a compiler that hangs. Every round but the last makes the function smaller or moves something
// outwards, and two or three rounds do in practice.
var maxRounds = 1000

func simplifyFunc(f *ir.Func, c *Context) {
	errs := c.Diags.Len()
	for range maxRounds {
		s := &simplifier{f: f, c: c, by: map[*ir.Value]*ir.Value{}, avail: map[string]*ir.Value{}}
		s.block(f.Body, 0)
		f.Replace(s.by) // what was used before it was replaced: yields of outer loops
		if c.Diags.Len() > errs && c.Diags.HasErrors() {
			return
		}
		s.dropDead()
		if !s.changed {
			return
		}
		if err := ir.Retype(f); err != nil {
			reportMisfit(f, c, err)
			return
		}
	}
	panic(fmt.Sprintf("%s still changes after %d rounds", f.Name, maxRounds))
}

func reportMisfit(f *ir.Func, c *Context, err error) {
	at, help := f.Span, ""
	var re *ir.RetypeError
	if errors.As(err, &re) {
		at = re.Op.Span
	}
	var te *ir.TypeError
	if errors.As(err, &te) {
		help = te.Help
	}
	d := c.Diags.Errorf(diag.ConstantMisfit, at, "%v", err)
	if help != "" {
		d.Help("%s", help)
	}
}

// simplifier walks a function once.
type simplifier struct {
	f       *ir.Func
	c       *Context
	changed bool

	by     map[*ir.Value]*ir.Value // values that are replaced
	avail  map[string]*ir.Value    // scalar ops that are visible here, by what they compute
	scope  []string                // keys of avail in order of entry, to leave a block
	key    []byte
	depth  []int32 // by value id: 1 + how many loops and branches its definition stands in; 0: unknown
	copies int     // ops made by unrolling
}

// block simplifies b, which stands in depth loops and branches.
func (s *simplifier) block(b *ir.Block, depth int32) {
	mark := len(s.scope)
	for _, v := range b.Args {
		s.setDepth(v, depth)
	}
	out := &ir.Block{Ops: make([]*ir.Op, 0, len(b.Ops))}
	s.ops(b.Ops, out, depth)
	b.Ops = out.Ops
	for _, k := range s.scope[mark:] {
		delete(s.avail, k)
	}
	s.scope = s.scope[:mark]
}

func (s *simplifier) setDepth(v *ir.Value, depth int32) {
	for v.ID >= len(s.depth) {
		s.depth = append(s.depth, make([]int32, max(64, len(s.depth)))...)
	}
	s.depth[v.ID] = depth + 1
}

// depthOf is the depth of v's definition; values that this round made count as deepest.
func (s *simplifier) depthOf(v *ir.Value) int32 {
	switch {
	case v.IsConst():
		return 0
	case v.ID >= len(s.depth) || s.depth[v.ID] == 0:
		return math.MaxInt32
	}
	return s.depth[v.ID] - 1
}

// ops appends what is left of ops to out.
func (s *simplifier) ops(ops []*ir.Op, out *ir.Block, depth int32) {
	s.c.poll()
	for _, op := range ops {
		s.substitute(op)
		if s.replaced(op, out) || s.controlGone(op, out, depth) {
			s.changed = true
			continue
		}
		loop := op.Kind == ir.For || op.Kind == ir.While || op.Kind == ir.Fused
		for _, r := range op.Regions {
			s.block(r, depth+1)
		}
		if loop {
			s.dropInvariantCarried(op)
			s.hoist(op, out, depth)
		}
		for _, v := range op.Results {
			s.setDepth(v, depth)
		}
		out.Ops = append(out.Ops, op)
	}
}

// substitute gives op's operands their replacements.
func (s *simplifier) substitute(op *ir.Op) {
	for i := range op.Args {
		for j, v := range op.Args[i].Vals {
			op.Args[i].Vals[j] = s.now(v)
		}
	}
}

// now is what stands for v by now.
func (s *simplifier) now(v *ir.Value) *ir.Value {
	for {
		w, ok := s.by[v]
		if !ok {
			return v
		}
		v = w
	}
}

// replaced finds an existing value or a constant for op's result; op is then gone.
func (s *simplifier) replaced(op *ir.Op, out *ir.Block) bool {
	if len(op.Results) != 1 || len(op.Regions) > 0 || !op.Kind.Pure() {
		return false
	}
	r := op.Results[0]
	v := ir.Fold(op, ir.FoldsExactly(s.f.Kind))
	if v == nil {
		v = s.identity(op)
	}
	if v == nil {
		v = s.view(op, out)
	}
	if v == nil {
		v = s.common(op)
	}
	if v == nil {
		return false
	}
	s.by[r] = v
	return true
}

// controlGone handles control flow whose way is known: branches on constants, and loops that are
// written out.
func (s *simplifier) controlGone(op *ir.Op, out *ir.Block, depth int32) bool {
	switch op.Kind {
	case ir.If:
		if c := op.Val("cond"); c.IsConst() {
			arm := op.Regions[0]
			if !c.Const.B {
				arm = op.Regions[1]
			}
			s.bind(op.Results, s.inlineBlock(arm.Ops, out, depth))
			return true
		}
		return s.sameArms(op)
	case ir.For:
		return s.shortLoop(op, out, depth)
	}
	return false
}

// inlineBlock puts a region's ops into out and returns what its yield hands on.
func (s *simplifier) inlineBlock(ops []*ir.Op, out *ir.Block, depth int32) []*ir.Value {
	var yielded []*ir.Value
	if n := len(ops); n > 0 && ops[n-1].Kind == ir.Yield {
		yielded = ops[n-1].Vals("values")
		ops = ops[:n-1]
	}
	s.ops(ops, out, depth)
	vals := make([]*ir.Value, len(yielded))
	for i, v := range yielded {
		vals[i] = s.now(v)
	}
	return vals
}

func (s *simplifier) bind(results, vals []*ir.Value) {
	for i, r := range results {
		s.by[r] = vals[i]
	}
}

// sameArms replaces results that both arms yield alike; the branch itself stays for dead code
// elimination.
func (s *simplifier) sameArms(op *ir.Op) bool {
	a, b := op.Regions[0].Terminator(), op.Regions[1].Terminator()
	if a == nil || b == nil {
		return false
	}
	x, y := a.Vals("values"), b.Vals("values")
	for i, r := range op.Results {
		if v := s.now(x[i]); v == s.now(y[i]) || v.IsConst() && y[i].IsConst() && ir.SameConst(v, y[i]) {
			if _, gone := s.by[r]; !gone && ir.TypesEqual(v.Type, r.Type) {
				s.by[r] = v
			}
		}
	}
	return false
}
