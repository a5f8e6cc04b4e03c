package passes

import (
	"testing"

	"ptoc/ir"
	"ptoc/ir/irtest"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// simplified inlines and simplifies; ok is false where constants made an op illegal, as they may.
func simplified(t *testing.T, m *ir.Module) (ok bool) {
	t.Helper()
	before := ir.Print(m)
	for _, p := range []struct {
		name string
		run  func(*ir.Module, *Context)
	}{{"InlineFunctions", inlineFunctions}, {"Simplify", simplify}} {
		c := &Context{Diags: &diag.List{}}
		p.run(m, c)
		if c.Diags.HasErrors() {
			for _, d := range c.Diags.Sorted() {
				if d.Code != diag.ConstantMisfit {
					t.Fatalf("%s: %v\n%s", p.name, d, before)
				}
			}
			return false
		}
		for _, err := range ir.Verify(m) {
			t.Fatalf("%s: %v\nbefore:\n%s\nafter:\n%s", p.name, err, before, ir.Print(m))
		}
	}
	return true
}

func TestSimplifyKeepsRandomModulesValidAndIsIdempotent(t *testing.T) {
	for seed := uint64(0); seed < 400; seed++ {
		m := irtest.Random(seed, int(seed%90))
		if !simplified(t, m) {
			continue
		}
		once := ir.CloneModule(m)
		simplify(m, &Context{Diags: &diag.List{}})
		if err := ir.Equal(once, m); err != nil {
			t.Fatalf("seed %d: a second run changes something: %v\nfirst:\n%s\nsecond:\n%s", seed, err, ir.Print(once), ir.Print(m))
		}
		for _, f := range m.Funcs {
			if f.Kind == ir.Inline {
				t.Fatalf("seed %d: inline function %s is left", seed, f.Name)
			}
			f.Walk(func(op *ir.Op) {
				if op.Kind == ir.For && op.Enum("kind").Is("unroll") {
					t.Fatalf("seed %d: a pl.unroll is left", seed)
				}
			})
		}
	}
}

func FuzzSimplify(f *testing.F) {
	f.Add([]byte("some bytes to start from"))
	f.Add([]byte{13, 2, 13, 0, 1, 7, 7, 12, 15, 3, 9, 200, 14, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		m := irtest.FromBytes(data)
		for _, err := range ir.Verify(m) {
			t.Fatal(err)
		}
		simplified(t, m)
	})
}

func TestInlineFunctionsThatCallThemselvesAreRefused(t *testing.T) {
	f := ir.NewFunc("f", ir.Inline, source.Span{})
	g := ir.NewFunc("g", ir.Inline, source.Span{})
	call := func(from, to *ir.Func) {
		if _, err := ir.NewBuilder(from, from.Body).Call(to); err != nil {
			t.Fatal(err)
		}
	}
	call(f, g)
	call(g, f)
	c := &Context{Diags: &diag.List{}}
	inlineFunctions(&ir.Module{Funcs: []*ir.Func{f, g}}, c)
	if all := c.Diags.Sorted(); len(all) != 1 || all[0].Code != diag.Recursion {
		t.Errorf("got %v", c.Diags)
	}
}

func BenchmarkInlineAndSimplify(b *testing.B) {
	m := irtest.Random(17, 220)
	for b.Loop() {
		c := ir.CloneModule(m)
		ctx := &Context{Diags: &diag.List{}}
		inlineFunctions(c, ctx)
		simplify(c, ctx)
	}
}
