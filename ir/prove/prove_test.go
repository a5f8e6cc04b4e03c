package prove

import (
	"math/rand"
	"testing"

	"ptoc/ir"
)

func sym(s string) ir.Dim { return ir.SymDim(s) }
func num(n int64) ir.Dim  { return ir.ConstDim(n) }

func facts() *Facts { return For(&ir.Func{Body: &ir.Block{}}) }

func TestWhatBlocksAndRemaindersLeaveIsFound(t *testing.T) {
	n, m, k := sym("N"), sym("M"), sym("K")
	for _, d := range []ir.Dim{
		n.Sub(n.Div(num(4)).Scale(4)),             // 4 * (N // 4) <= N
		n.Div(num(4)).Scale(4).Sub(n).Add(num(3)), // ... > N - 4
		num(7).Sub(n.Mod(num(8))),
		n.Sub(n.Mod(k.Add(num(1)))),
		n.Max(m).Sub(n),
		n.Sub(n.Min(m)),
		n.Mul(m),
	} {
		if !facts().Nonneg(d) {
			t.Errorf("%s >= 0 is not found", d)
		}
	}
	if facts().Nonneg(n.Sub(num(1))) || facts().Nonneg(n.Sub(m)) || facts().Nonneg(num(6).Sub(n.Mod(num(8)))) {
		t.Error("what may be negative is said not to be")
	}
}

// TestNothingIsProvedThatIsWrong evaluates random expressions.
func TestNothingIsProvedThatIsWrong(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewSource(seed))
	var random func(depth int) ir.Dim
	random = func(depth int) ir.Dim {
		if depth == 0 || r.Intn(4) == 0 {
			if r.Intn(3) == 0 {
				return num(int64(r.Intn(9) - 3))
			}
			return sym(string(rune('A' + r.Intn(3))))
		}
		a, b := random(depth-1), random(depth-1)
		switch r.Intn(8) {
		case 0:
			return a.Mul(b)
		case 1:
			return a.Div(b.Max(num(1)))
		case 2:
			return a.Mod(b.Max(num(1)))
		case 3:
			return a.Div(num(int64(1 + r.Intn(5))))
		case 4:
			return a.Min(b)
		case 5:
			return a.Max(b)
		case 6:
			return a.Sub(b)
		}
		return a.Add(b)
	}
	proved := 0
	for range 20000 {
		d := random(3)
		if !facts().Nonneg(d) {
			continue
		}
		proved++
		for range 30 {
			at := map[string]int64{"A": int64(r.Intn(12)), "B": int64(r.Intn(12)), "C": int64(r.Intn(12))}
			n, err := d.Eval(func(a ir.Atom) (int64, bool) { v, ok := at[a.Sym]; return v, ok })
			if err == nil && n < 0 {
				t.Fatalf("seed %d: %s is %d for %v", seed, d, n, at)
			}
		}
	}
	t.Logf("%d of 20000 proved", proved)
}
