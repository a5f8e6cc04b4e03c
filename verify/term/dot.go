package term

import "slices"

// Vec is a row or column of a matrix, as an operand of Dot.
func (s *Space) Vec(elems []T) T { return s.intern(node{op: opVec, args: slices.Clone(elems)}) }

// Dot is the sum of the products of two vectors of Vec.
func (s *Space) Dot(v, w T) T {
	a, b := s.nodes[v].args, s.nodes[w].args
	if len(a) == 1 {
		return s.Mul(a[0], b[0])
	}
	if s.hasConst(a) || s.hasConst(b) {
		products := make([]T, len(a))
		for i := range a {
			products[i] = s.Mul(a[i], b[i])
		}
		return s.Sum(products)
	}
	return s.intern(node{op: opDot, args: []T{min(v, w), max(v, w)}})
}

func (s *Space) hasConst(ts []T) bool {
	return slices.ContainsFunc(ts, func(t T) bool { return s.nodes[t].op == opConst })
}

// Canonical is t with the inner products in its sums joined: products that were added up in other groups, as by
// a loop over blocks of the inner dimension or by ranks, become the same term.
func (s *Space) Canonical(t T) T {
	n := s.nodes[t]
	if n.op == opConst || n.op == opLeaf {
		return t
	}
	if c, ok := s.canon[t]; ok {
		return c
	}
	c := t
	switch n.op {
	case opSum:
		c = s.joined(&n)
	case opDot:
		c = s.joined(&node{op: opSum, args: []T{t}, coefs: []float64{1}})
	default:
		args := make([]T, len(n.args))
		for i, a := range n.args {
			args[i] = s.Canonical(a)
		}
		if !slices.Equal(args, n.args) {
			c = s.rebuilt(n.op, args)
		}
	}
	s.canon[t] = c
	return c
}

func (s *Space) rebuilt(op int32, args []T) T {
	switch op {
	case opMul:
		t := args[0]
		for _, a := range args[1:] {
			t = s.Mul(t, a)
		}
		return t
	case opMax, opMin:
		return s.Extreme(s.ops.text[op], args...)
	case opVec:
		return s.Vec(args)
	}
	return s.Apply(s.ops.text[op], args...)
}

type pair struct{ a, b T }

// joined is a sum whose products of two are, for each coefficient, one inner product in the order of its pairs.
func (s *Space) joined(n *node) T {
	groups := map[float64][]pair{}
	var rest []part
	k := n.k
	for i, a := range n.args {
		switch m := s.nodes[a]; {
		case m.op == opDot:
			x, y := s.nodes[m.args[0]].args, s.nodes[m.args[1]].args
			for j := range x {
				p, q := s.Canonical(x[j]), s.Canonical(y[j])
				groups[n.coefs[i]] = append(groups[n.coefs[i]], pair{min(p, q), max(p, q)})
			}
		case m.op == opMul && len(m.args) == 2:
			p, q := s.Canonical(m.args[0]), s.Canonical(m.args[1])
			groups[n.coefs[i]] = append(groups[n.coefs[i]], pair{min(p, q), max(p, q)})
		default:
			l, as, cs := s.linear(s.Canonical(a))
			k += n.coefs[i] * l
			for j, b := range as {
				rest = append(rest, part{b, n.coefs[i] * cs[j]})
			}
		}
	}
	for c, ps := range groups {
		rest = append(rest, part{s.pairs(ps), c})
	}
	return s.sumOf(k, rest)
}

// pairs is the sum of products of two, as one inner product.
func (s *Space) pairs(ps []pair) T {
	slices.SortFunc(ps, func(x, y pair) int {
		if x.a != y.a {
			return int(x.a) - int(y.a)
		}
		return int(x.b) - int(y.b)
	})
	v, w := make([]T, len(ps)), make([]T, len(ps))
	for i, p := range ps {
		v[i], w[i] = p.a, p.b
	}
	if s.hasConst(v) || s.hasConst(w) || len(ps) == 1 {
		return s.Dot(s.Vec(v), s.Vec(w))
	}
	return s.intern(node{op: opDot, args: []T{s.Vec(v), s.Vec(w)}})
}
