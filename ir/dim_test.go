package ir

import "testing"

func TestEqualDimsAreStructurallyEqual(t *testing.T) {
	n, m := SymDim("N"), SymDim("M")
	two := ConstDim(2)
	tests := []struct {
		name string
		a, b Dim
		text string
	}{
		{"sum commutes", n.Add(m), m.Add(n), "M + N"},
		{"product distributes", n.Add(m).Mul(two), n.Mul(two).Add(m.Mul(two)), "M * 2 + N * 2"},
		{"difference cancels", n.Add(two).Sub(n), two, "2"},
		{"multiple divides", n.Mul(ConstDim(4)).Add(ConstDim(5)).Div(ConstDim(4)), n.Add(ConstDim(1)), "N + 1"},
		{"rest stays in the division", n.Add(m.Mul(two)).Div(two), m.Add(n.Div(two)), "(N // 2) + M"},
		{"multiple vanishes modulo", n.Mul(ConstDim(6)).Add(m).Mod(ConstDim(3)), m.Mod(ConstDim(3)), "(M % 3)"},
		{"min of ordered", n.Min(n.Add(two)), n, "N"},
		{"max commutes", n.Max(m), m.Max(n), "pl.max(M, N)"},
		{"negative floor division", ConstDim(-7).Div(two), ConstDim(-4), "-4"},
		{"negative modulo", ConstDim(-7).Mod(two), ConstDim(1), "1"},
		{"nothing", n.Sub(n), Dim{}, "0"},
	}
	for _, tt := range tests {
		if !tt.a.Equal(tt.b) {
			t.Errorf("%s: %s is not %s", tt.name, tt.a, tt.b)
		}
		if tt.a.String() != tt.text {
			t.Errorf("%s: got %q, want %q", tt.name, tt.a, tt.text)
		}
	}
}

func TestDimEvalFindsOverflowAndDivisionByZero(t *testing.T) {
	env := func(a Atom) (int64, bool) { return map[string]int64{"N": 1 << 40, "Z": 0}[a.Sym], true }
	if _, err := SymDim("N").Mul(SymDim("N")).Eval(env); err == nil {
		t.Error("2^80 fits 64 bits?")
	}
	if _, err := SymDim("N").Div(SymDim("Z")).Eval(env); err == nil {
		t.Error("division by zero has a value?")
	}
	if v, err := SymDim("N").Div(ConstDim(3)).Eval(env); err != nil || v != (1<<40)/3 {
		t.Errorf("got %d, %v", v, err)
	}
}
