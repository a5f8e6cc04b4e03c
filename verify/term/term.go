// Package term is symbolic arithmetic on elements: what a program computes, as expressions over its
// inputs, in a normal form. Two terms that normalise alike are the same number.
//
// Sums are kept as a constant and a multiset of terms with coefficients; products, maxima and minima as
// multisets and sets. So a reduction over ranks is what it means, the multiset of its contributions,
// in whatever order and grouping an algorithm combines them. Everything else (exp, division by a
// term, ...) is an operation without laws: equal arguments give equal results.
//
// The inner products of matrices are one node each, over the vectors they multiply: a product of matrices costs
// what its operands and its result have in elements. Canonical takes them apart where that decides.
//
// Rounding is left out on purpose: terms are real numbers. Casts between float types are the identity.
package term

import (
	"math"
	"slices"
)

// T is a term of a Space. The zero T is the constant 0 of every Space.
type T int32

// Space interns terms: equal terms have equal numbers. The zero Space is not usable; see NewSpace.
type Space struct {
	nodes []node
	table []T // open addressing by hash; 0: free, since the constant 0 is never looked up
	ops   names
	leafs names
	texts map[string]func(i int64) string
	whole map[string]int64 // inputs that are whole numbers: the largest
	canon map[T]T
	size  int

	// Limit, if not 0, is the most terms that may be made; TooMany is what Space panics with beyond it.
	Limit   int
	TooMany any
}

// names numbers strings.
type names struct {
	id   map[string]int32
	text []string
}

func (n *names) of(s string) int32 {
	if i, ok := n.id[s]; ok {
		return i
	}
	if n.id == nil {
		n.id = map[string]int32{}
	}
	i := int32(len(n.text))
	n.id[s] = i
	n.text = append(n.text, s)
	return i
}

type node struct {
	op    int32 // one of those below, or the number of an operation without laws
	leaf  int32 // number of the memory, for leaves
	k     float64
	args  []T
	coefs []float64 // opSum
	undef bool      // leaf that stands for memory nobody wrote
	hash  uint32
}

const (
	opConst int32 = iota
	opLeaf
	opSum
	opMul
	opMax
	opMin
	opVec // an operand of opDot: its elements
	opDot // the sum of the products of two vectors
)

// NewSpace returns a space that holds only 0.
func NewSpace() *Space {
	s := &Space{table: make([]T, 1<<10), texts: map[string]func(int64) string{}, whole: map[string]int64{}, canon: map[T]T{}}
	for _, op := range []string{"", "leaf", "sum", "mul", "max", "min", "vec", "dot"} {
		s.ops.of(op)
	}
	s.nodes = append(s.nodes, node{})
	return s
}

// Size counts the terms made so far, and the terms in them: what they cost.
func (s *Space) Size() int { return s.size }

// intern gives equal nodes the same number. It keeps n's slices.
func (s *Space) intern(n node) T {
	h := n.sum()
	n.hash = uint32(h)
	mask := uint64(len(s.table) - 1)
	i := h & mask
	for ; s.table[i] != 0; i = (i + 1) & mask {
		if m := &s.nodes[s.table[i]]; m.hash == n.hash && m.equal(&n) {
			return s.table[i]
		}
	}
	s.size += 1 + len(n.args)
	if s.Limit > 0 && s.size > s.Limit {
		panic(s.TooMany)
	}
	t := T(len(s.nodes))
	s.nodes = append(s.nodes, n)
	s.table[i] = t
	if len(s.nodes)*2 > len(s.table) {
		s.grow()
	}
	return t
}

func (s *Space) grow() {
	s.table = make([]T, 2*len(s.table))
	mask := uint64(len(s.table) - 1)
	for t := 1; t < len(s.nodes); t++ {
		i := s.nodes[t].sum() & mask
		for s.table[i] != 0 {
			i = (i + 1) & mask
		}
		s.table[i] = T(t)
	}
}

func (n *node) sum() uint64 {
	h := uint64(n.op)<<32 | uint64(uint32(n.leaf))
	mix := func(x uint64) {
		h = (h ^ x) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	mix(math.Float64bits(n.k))
	for _, a := range n.args {
		mix(uint64(a))
	}
	for _, c := range n.coefs {
		mix(math.Float64bits(c))
	}
	return h ^ h>>32
}

func (n *node) equal(m *node) bool {
	return n.op == m.op && n.leaf == m.leaf && (n.k == m.k || n.k != n.k && m.k != m.k) && slices.Equal(n.args, m.args) &&
		slices.Equal(n.coefs, m.coefs)
}

// Const is a number.
func (s *Space) Const(x float64) T {
	if x == 0 {
		return 0 // no negative zero
	}
	return s.intern(node{k: x})
}

// IsConst gives the number that t is.
func (s *Space) IsConst(t T) (float64, bool) {
	n := &s.nodes[t]
	return n.k, n.op == opConst
}

// Leaf is element i of an input; Undef is one of memory that nobody has written.
func (s *Space) Leaf(name string, i int64) T {
	return s.intern(node{op: opLeaf, leaf: s.leafs.of(name), k: float64(i)})
}
func (s *Space) Undef(name string, i int64) T {
	return s.intern(node{op: opLeaf, leaf: s.leafs.of("undefined " + name), k: float64(i), undef: true})
}

// Name says how Text writes the elements of an input.
func (s *Space) Name(leaf string, element func(i int64) string) { s.texts[leaf] = element }

// Whole says that the elements of an input are whole numbers; true and false are 1 and 0.
func (s *Space) Whole(leaf string, truth bool) {
	s.whole[leaf] = 99
	if truth {
		s.whole[leaf] = 1
	}
}

// IsUndef reports whether t is such an element.
func (s *Space) IsUndef(t T) bool { return s.nodes[t].undef }

// IsLeaf gives the input and index of a leaf.
func (s *Space) IsLeaf(t T) (name string, i int64, ok bool) {
	n := &s.nodes[t]
	if n.op != opLeaf {
		return "", 0, false
	}
	return s.leafs.text[n.leaf], int64(n.k), true
}

// linear is t as constant + sum of coefs * args.
func (s *Space) linear(t T) (k float64, args []T, coefs []float64) {
	switch n := &s.nodes[t]; n.op {
	case opConst:
		return n.k, nil, nil
	case opSum:
		return n.k, n.args, n.coefs
	}
	return 0, []T{t}, []float64{1}
}

// Add is a + c * b.
func (s *Space) Add(a, b T, c float64) T {
	k, as, ac := s.linear(a)
	l, bs, bc := s.linear(b)
	n := node{op: opSum, k: k + c*l, args: make([]T, 0, len(as)+len(bs)), coefs: make([]float64, 0, len(as)+len(bs))}
	for i, j := 0, 0; i < len(as) || j < len(bs); {
		switch {
		case j == len(bs) || i < len(as) && as[i] < bs[j]:
			n.args, n.coefs = append(n.args, as[i]), append(n.coefs, ac[i])
			i++
		case i == len(as) || bs[j] < as[i]:
			n.args, n.coefs = append(n.args, bs[j]), append(n.coefs, c*bc[j])
			j++
		default:
			if x := ac[i] + c*bc[j]; x != 0 {
				n.args, n.coefs = append(n.args, as[i]), append(n.coefs, x)
			}
			i, j = i+1, j+1
		}
	}
	return s.sum(n)
}

// Scale is c * t.
func (s *Space) Scale(t T, c float64) T {
	if c == 0 {
		return 0
	}
	return s.Add(0, t, c)
}

// Sum adds many terms at once.
func (s *Space) Sum(ts []T) T {
	if len(ts) == 2 {
		return s.Add(ts[0], ts[1], 1)
	}
	k := 0.0
	parts := make([]part, 0, len(ts))
	for _, t := range ts {
		l, as, cs := s.linear(t)
		k += l
		for i, a := range as {
			parts = append(parts, part{a, cs[i]})
		}
	}
	return s.sumOf(k, parts)
}

type part struct {
	arg  T
	coef float64
}

// sumOf is k and the sum of parts, which it sorts.
func (s *Space) sumOf(k float64, parts []part) T {
	slices.SortFunc(parts, func(a, b part) int { return int(a.arg) - int(b.arg) })
	n := node{op: opSum, k: k, args: make([]T, 0, len(parts)), coefs: make([]float64, 0, len(parts))}
	for i := 0; i < len(parts); {
		a, c := parts[i].arg, 0.0
		for ; i < len(parts) && parts[i].arg == a; i++ {
			c += parts[i].coef
		}
		if c != 0 {
			n.args, n.coefs = append(n.args, a), append(n.coefs, c)
		}
	}
	return s.sum(n)
}

// sum interns a sum; one of a single term with coefficient 1 is that term.
func (s *Space) sum(n node) T {
	switch {
	case len(n.args) == 0:
		return s.Const(n.k)
	case len(n.args) == 1 && n.k == 0 && n.coefs[0] == 1:
		return n.args[0]
	}
	if n.k == 0 {
		n.k = 0
	}
	return s.intern(n)
}

// factor splits t into a coefficient and a term.
func (s *Space) factor(t T) (float64, T) {
	n := &s.nodes[t]
	if n.op == opSum && len(n.args) == 1 && n.k == 0 {
		return n.coefs[0], n.args[0]
	}
	return 1, t
}

// Mul is a * b.
func (s *Space) Mul(a, b T) T {
	if k, ok := s.IsConst(a); ok {
		return s.Scale(b, k)
	}
	if k, ok := s.IsConst(b); ok {
		return s.Scale(a, k)
	}
	c, x := s.factor(a)
	d, y := s.factor(b)
	args := append(s.flat(opMul, x), s.flat(opMul, y)...)
	slices.Sort(args)
	return s.Scale(s.intern(node{op: opMul, args: args}), c*d)
}

func (s *Space) flat(op int32, t T) []T {
	if n := &s.nodes[t]; n.op == op {
		return slices.Clone(n.args)
	}
	return []T{t}
}

// Extreme is the maximum or minimum of terms: a set, in which at most one is a constant.
func (s *Space) Extreme(name string, ts ...T) T {
	op := opMax
	if name == "min" {
		op = opMin
	}
	args := make([]T, 0, len(ts))
	k, have := 0.0, false
	for _, t := range ts {
		flat := []T{t}
		if n := &s.nodes[t]; n.op == op {
			flat = n.args
		}
		for _, u := range flat {
			x, ok := s.IsConst(u)
			switch {
			case !ok:
				args = append(args, u)
			case !have:
				k, have = x, true
			case op == opMax:
				k = max(k, x)
			default:
				k = min(k, x)
			}
		}
	}
	slices.Sort(args)
	args = slices.Compact(args)
	// The neutral elements, with which programs start their reductions, are left out.
	if have && (len(args) == 0 || !(op == opMax && math.IsInf(k, -1)) && !(op == opMin && math.IsInf(k, 1))) {
		args = append(args, s.Const(k))
		slices.Sort(args)
	}
	if len(args) == 1 {
		return args[0]
	}
	return s.intern(node{op: op, args: args})
}

// Apply is an operation of the op table on elements, by ir.Kind.Scalar.
func (s *Space) Apply(op string, args ...T) T {
	switch op {
	case "id", "cast":
		return args[0]
	case "add":
		return s.Add(args[0], args[1], 1)
	case "sub":
		return s.Add(args[0], args[1], -1)
	case "neg":
		return s.Scale(args[0], -1)
	case "mul":
		return s.Mul(args[0], args[1])
	case "max", "min":
		return s.Extreme(op, args...)
	case "relu":
		return s.Extreme("max", args[0], 0)
	case "div":
		if k, ok := s.IsConst(args[1]); ok && k != 0 {
			if x, both := s.IsConst(args[0]); both {
				return s.Const(x / k)
			}
			return s.Scale(args[0], 1/k)
		}
		return s.Mul(args[0], s.Apply("recip", args[1]))
	case "rsqrt":
		return s.Apply("recip", s.Apply("sqrt", args[0]))
	case "sel":
		if k, ok := s.IsConst(args[0]); ok {
			if k != 0 {
				return args[1]
			}
			return args[2]
		}
	}
	if f := folds[op]; f != nil {
		xs := make([]float64, len(args))
		all := true
		for i, a := range args {
			x, ok := s.IsConst(a)
			xs[i], all = x, all && ok
		}
		if all {
			return s.Const(f(xs))
		}
	}
	return s.intern(node{op: s.ops.of(op), args: slices.Clone(args)})
}
