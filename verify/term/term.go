// Package term is symbolic arithmetic on elements: what a program computes, as expressions over its
// inputs, in a normal form. Two terms that normalise alike are the same number.
//
// Sums are kept as a constant and a multiset of terms with coefficients; products, maxima and minima as
// multisets and sets. So a reduction over ranks is what it means, the multiset of its contributions,
// in whatever order and grouping an algorithm combines them. Everything else (exp, division by a
// term, ...) is an operation without laws: equal arguments give equal results.
//
// Rounding is left out on purpose: terms are real numbers. Casts between float types are the identity.
package term

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// T is a term of a Space. The zero T is the constant 0 of every Space.
type T int32

// Space interns terms: equal terms have equal numbers. The zero Space is not usable; see NewSpace.
type Space struct {
	nodes []node
	index map[uint64]T
	names map[string]func(i int64) string
	size  int
}

type node struct {
	op    string // "", leaf, sum, mul, max, min, or the name of an operation without laws
	leaf  string // name of the memory, for leaves
	k     float64
	args  []T
	coefs []float64 // sum
	next  T         // another node with the same hash; 0: none
	undef bool      // leaf that stands for memory nobody wrote
}

// NewSpace returns a space that holds only 0.
func NewSpace() *Space {
	s := &Space{index: map[uint64]T{}, names: map[string]func(int64) string{}}
	s.Const(0)
	return s
}

// Size counts the terms made so far, and the terms in them: what they cost.
func (s *Space) Size() int { return s.size }

// intern gives equal nodes the same number. Nodes with equal hashes are chained.
func (s *Space) intern(n node) T {
	h := n.hash()
	first, any := s.index[h]
	for t := first; any; t = s.nodes[t].next {
		if s.nodes[t].equal(&n) {
			return t
		}
		if s.nodes[t].next == 0 {
			break
		}
	}
	s.size += 1 + len(n.args)
	t := T(len(s.nodes))
	n.next = first
	s.nodes = append(s.nodes, n)
	s.index[h] = t
	return t
}

func (n *node) hash() uint64 {
	h := uint64(14695981039346656037)
	mix := func(x uint64) {
		h = (h ^ x) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for i := 0; i < len(n.op); i++ {
		mix(uint64(n.op[i]))
	}
	for i := 0; i < len(n.leaf); i++ {
		mix(uint64(n.leaf[i]))
	}
	mix(math.Float64bits(n.k))
	for _, a := range n.args {
		mix(uint64(a))
	}
	for _, c := range n.coefs {
		mix(math.Float64bits(c))
	}
	return h
}

func (n *node) equal(m *node) bool {
	return n.op == m.op && n.leaf == m.leaf && (n.k == m.k || n.k != n.k && m.k != m.k) && slices.Equal(n.args, m.args) &&
		slices.Equal(n.coefs, m.coefs)
}

// Const is a number.
func (s *Space) Const(x float64) T {
	if x == 0 {
		x = 0 // no negative zero
	}
	return s.intern(node{k: x})
}

// IsConst gives the number that t is.
func (s *Space) IsConst(t T) (float64, bool) {
	n := &s.nodes[t]
	return n.k, n.op == ""
}

// Leaf is element i of an input; Undef is one of memory that nobody has written.
func (s *Space) Leaf(name string, i int64) T {
	return s.intern(node{op: "leaf", leaf: name, k: float64(i)})
}
func (s *Space) Undef(name string, i int64) T {
	return s.intern(node{op: "leaf", leaf: name, k: float64(i), undef: true})
}

// Name says how Text writes the elements of an input.
func (s *Space) Name(leaf string, element func(i int64) string) { s.names[leaf] = element }

// IsUndef reports whether t is such an element.
func (s *Space) IsUndef(t T) bool { return s.nodes[t].undef }

// IsLeaf gives the input and index of a leaf.
func (s *Space) IsLeaf(t T) (name string, i int64, ok bool) {
	n := &s.nodes[t]
	return n.leaf, int64(n.k), n.op == "leaf"
}

// linear is t as constant + sum of coefs * args.
func (s *Space) linear(t T) (k float64, args []T, coefs []float64) {
	switch n := &s.nodes[t]; n.op {
	case "":
		return n.k, nil, nil
	case "sum":
		return n.k, n.args, n.coefs
	}
	return 0, []T{t}, []float64{1}
}

// Add is a + c * b.
func (s *Space) Add(a, b T, c float64) T {
	k, as, ac := s.linear(a)
	l, bs, bc := s.linear(b)
	n := node{op: "sum", k: k + c*l, args: make([]T, 0, len(as)+len(bs)), coefs: make([]float64, 0, len(as)+len(bs))}
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
	total := map[T]float64{}
	k := 0.0
	for _, t := range ts {
		l, as, cs := s.linear(t)
		k += l
		for i, a := range as {
			total[a] += cs[i]
		}
	}
	n := node{op: "sum", k: k}
	for a, c := range total {
		if c != 0 {
			n.args = append(n.args, a)
		}
	}
	slices.Sort(n.args)
	for _, a := range n.args {
		n.coefs = append(n.coefs, total[a])
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
	if n.op == "sum" && len(n.args) == 1 && n.k == 0 {
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
	args := append(s.flat("mul", x), s.flat("mul", y)...)
	slices.Sort(args)
	return s.Scale(s.intern(node{op: "mul", args: args}), c*d)
}

func (s *Space) flat(op string, t T) []T {
	if n := &s.nodes[t]; n.op == op {
		return slices.Clone(n.args)
	}
	return []T{t}
}

// Extreme is the maximum or minimum of terms: a set, in which at most one is a constant.
func (s *Space) Extreme(op string, ts ...T) T {
	var args []T
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
			case op == "max":
				k = max(k, x)
			default:
				k = min(k, x)
			}
		}
	}
	slices.Sort(args)
	args = slices.Compact(args)
	// The neutral elements, with which programs start their reductions, are left out.
	if have && (len(args) == 0 || !(op == "max" && math.IsInf(k, -1)) && !(op == "min" && math.IsInf(k, 1))) {
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
	case "recip":
		return s.Apply("div", s.Const(1), args[0])
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
	return s.intern(node{op: op, args: slices.Clone(args)})
}

// Text writes a term for a message, cut short where it is long.
func (s *Space) Text(t T) string {
	var b strings.Builder
	s.text(&b, t, 3)
	return b.String()
}

func (s *Space) text(b *strings.Builder, t T, depth int) {
	n := &s.nodes[t]
	switch {
	case n.op == "":
		fmt.Fprintf(b, "%g", n.k)
	case n.undef:
		b.WriteString("undefined")
	case n.op == "leaf":
		if f := s.names[n.leaf]; f != nil {
			b.WriteString(f(int64(n.k)))
			return
		}
		fmt.Fprintf(b, "%s[%d]", n.leaf, int64(n.k))
	case depth == 0:
		b.WriteString("...")
	case n.op == "sum":
		for i, a := range n.args {
			if i == 8 {
				fmt.Fprintf(b, " + ... (%d terms)", len(n.args))
				break
			}
			if i > 0 {
				b.WriteString(" + ")
			}
			if c := n.coefs[i]; c != 1 {
				fmt.Fprintf(b, "%g*", c)
			}
			s.text(b, a, depth-1)
		}
		if n.k != 0 {
			fmt.Fprintf(b, " + %g", n.k)
		}
	default:
		b.WriteString(n.op + "(")
		for i, a := range n.args {
			if i == 8 {
				b.WriteString(", ...")
				break
			}
			if i > 0 {
				b.WriteString(", ")
			}
			s.text(b, a, depth-1)
		}
		b.WriteString(")")
	}
}
