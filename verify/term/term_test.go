package term

import (
	"math"
	"math/rand"
	"testing"
)

func TestSumsAreMultisetsWhateverTheOrder(t *testing.T) {
	s := NewSpace()
	var xs []T
	for i := range 8 {
		xs = append(xs, s.Leaf("x", int64(i)))
	}
	want := s.Sum(xs)
	r := rand.New(rand.NewSource(1))
	for range 50 {
		r.Shuffle(len(xs), func(i, j int) { xs[i], xs[j] = xs[j], xs[i] })
		acc, k := T(0), r.Intn(len(xs))
		for _, x := range xs[:k] {
			acc = s.Add(acc, x, 1)
		}
		if got := s.Add(acc, s.Sum(xs[k:]), 1); got != want {
			t.Fatalf("%s, want %s", s.Text(got), s.Text(want))
		}
	}
	if s.Add(want, xs[0], 1) == want {
		t.Error("a contribution that counts twice is not seen")
	}
}

func TestExtremesAreSetsAndProductsMultisets(t *testing.T) {
	s := NewSpace()
	a, b, c := s.Leaf("a", 0), s.Leaf("b", 0), s.Leaf("c", 0)
	max := func(x, y T) T { return s.Apply("max", x, y) }
	if max(a, max(b, a)) != max(max(b, b), a) || max(a, s.Const(math.Inf(-1))) != a || max(a, b) == max(a, c) {
		t.Error("max is not a set")
	}
	if s.Mul(a, s.Mul(b, c)) != s.Mul(s.Mul(c, a), b) || s.Mul(a, a) == a || s.Mul(s.Scale(a, 2), b) != s.Scale(s.Mul(a, b), 2) {
		t.Error("products do not commute, associate and take out numbers")
	}
	if s.Add(a, a, -1) != 0 || s.Apply("sub", s.Add(a, b, 1), b) != a {
		t.Error("differences do not cancel")
	}
}

// TestTermsHaveTheValueOfWhatTheyAreMadeOf evaluates random expressions as terms and directly.
func TestTermsHaveTheValueOfWhatTheyAreMadeOf(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	for range 2000 {
		s := NewSpace()
		v := NewValues(s, 3)
		term, want := randomTerm(r, s, v, 5)
		got, ok := v.Of(term)
		if !ok || math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
			t.Fatalf("%s = %g, want %g", s.Text(term), got, want)
		}
	}
}

func randomTerm(r *rand.Rand, s *Space, v *Values, depth int) (T, float64) {
	if depth == 0 || r.Intn(6) == 0 {
		if r.Intn(3) == 0 {
			k := float64(r.Intn(5) - 2)
			return s.Const(k), k
		}
		x := s.Leaf("x", int64(r.Intn(4)))
		k, _ := v.Of(x)
		return x, k
	}
	a, x := randomTerm(r, s, v, depth-1)
	b, y := randomTerm(r, s, v, depth-1)
	switch r.Intn(7) {
	case 0:
		return s.Apply("add", a, b), x + y
	case 1:
		return s.Apply("sub", a, b), x - y
	case 2:
		return s.Apply("mul", a, b), x * y
	case 3:
		return s.Apply("max", a, b), max(x, y)
	case 4:
		return s.Apply("min", a, b), min(x, y)
	case 5:
		return s.Apply("relu", a), max(x, 0)
	}
	return s.Apply("tanh", s.Apply("neg", a)), math.Tanh(-x)
}
