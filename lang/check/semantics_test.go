package check_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
	"ptoc/passes"
	"ptoc/runtime/sim"
)

// What the passes make of the examples reads back without a word.
func TestLoweredExamplesReadBackSilently(t *testing.T) {
	files, _ := filepath.Glob("../../examples/*.pl")
	course, _ := filepath.Glob("../../examples/course/*.pl")
	for _, name := range append(files, course...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var list diag.List
		tree := syntax.Parse(source.NewFile(name, string(text)), syntax.Strict, &list)
		m := check.File(tree, check.Options{}, &list)
		list.Merge(passes.Run(m, passes.Options{}))
		check.File(syntax.Parse(source.NewFile("printed.pl", ir.Print(m)), syntax.Strict, &list), check.Options{}, &list)
		if list.Len() > 0 {
			t.Errorf("%s: %v", name, list.Sorted())
		}
	}
}

// Random programs of loops, branches, break, continue and return compute what Python computes: an
// interpreter of the syntax tree, below, is the specification, the simulator runs the IR.
func TestControlFlowMeansWhatPythonMeans(t *testing.T) {
	n := uint64(300)
	if testing.Short() {
		n = 50
	}
	for seed := uint64(0); seed < n; seed++ {
		g := &generator{rng: rand.New(rand.NewPCG(seed, 3))}
		text := g.program()
		var list diag.List
		tree := syntax.Parse(source.NewFile("random.pl", text), syntax.Strict, &list)
		m := check.File(tree, check.Options{}, &list)
		if list.HasErrors() {
			t.Fatalf("seed %d: %v\n%s", seed, list.Err(), text)
		}
		for _, err := range ir.Verify(m) {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		arg := int64(seed % 7)
		want := interpret(tree, arg)
		got := simulate(t, m, arg)
		if got != want {
			t.Fatalf("seed %d, n = %d: got %v, Python gives %v\n%s\n%s", seed, arg, got, want, text, ir.Print(m))
		}
	}
}

// generator writes programs over the integers a, b, c and the argument n.
type generator struct {
	rng   *rand.Rand
	b     strings.Builder
	loops int
	names int
	value bool // returns hand on a value
}

func (g *generator) program() string {
	g.value = true
	g.b.WriteString("@pl.jit.inline\ndef helper(a: pl.Scalar[pl.INDEX], n: pl.Scalar[pl.INDEX], y: pl.InOut[pl.Tensor[[4], pl.INDEX]]):\n    b = n\n    c = 1\n")
	g.block(1, 3)
	g.line(1, "return a + b")
	g.value = false
	g.b.WriteString("\n@pl.jit.incore\ndef f(y: pl.InOut[pl.Tensor[[4], pl.INDEX]], n: pl.Scalar[pl.INDEX]):\n    a = 0\n    b = n\n    c = 1\n")
	g.block(1, 3)
	g.line(1, "c = c + helper(b, a, y)")
	g.block(1, 2)
	g.line(1, "y[0] = a")
	g.line(1, "y[1] = b")
	g.line(1, "y[2] = c")
	g.line(1, "return y")
	return g.b.String()
}

func (g *generator) line(depth int, format string, args ...any) {
	g.b.WriteString(strings.Repeat("    ", depth))
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

func (g *generator) block(depth, size int) {
	for n := 1 + g.rng.IntN(size); n > 0; n-- {
		g.stmt(depth)
	}
}

func (g *generator) stmt(depth int) {
	k := g.rng.IntN(12)
	if depth > 4 {
		k = g.rng.IntN(5)
	}
	switch k {
	case 0, 1:
		g.line(depth, "%s = %s", g.name(), g.expr(2))
	case 2:
		g.line(depth, "%s += %s", g.name(), g.expr(1))
	case 3:
		g.line(depth, "%s, %s = %s, %s", g.name(), g.name(), g.expr(1), g.expr(1))
	case 4:
		g.line(depth, "y[3] = y[3] * 3 %% 1009 + %s", g.expr(1))
	case 5, 6:
		g.line(depth, "if %s:", g.cond())
		g.block(depth+1, 3)
		if g.rng.IntN(2) == 0 {
			g.line(depth, "elif %s:", g.cond())
			g.block(depth+1, 2)
		}
		if g.rng.IntN(2) == 0 {
			g.line(depth, "else:")
			g.block(depth+1, 2)
		}
	case 7:
		g.names++
		i := fmt.Sprintf("i%d", g.names)
		g.line(depth, "for %s in pl.range(%d, %d, %d):", i, g.rng.IntN(3), g.rng.IntN(6), []int{1, 2, -1}[g.rng.IntN(3)])
		g.line(depth+1, "%s = %s + %s", g.name(), g.name(), i)
		g.loops++
		g.block(depth+1, 3)
		g.loops--
	case 8:
		g.names++
		w := fmt.Sprintf("w%d", g.names)
		g.line(depth, "%s = 0", w)
		if g.rng.IntN(3) == 0 {
			g.line(depth, "while True:")
			g.line(depth+1, "%s += 1", w)
			g.line(depth+1, "if %s > %d:", w, g.rng.IntN(4))
			g.line(depth+2, "break")
		} else {
			g.line(depth, "while %s < %d and (%s):", w, 1+g.rng.IntN(5), g.cond())
			g.line(depth+1, "%s = %s + 1", w, w)
		}
		g.loops++
		g.block(depth+1, 3)
		g.loops--
	default:
		g.exit(depth)
	}
}

func (g *generator) exit(depth int) {
	g.line(depth, "if %s:", g.cond())
	switch k := g.rng.IntN(5); {
	case k < 2 && g.loops > 0:
		g.line(depth+1, "break")
	case k < 4 && g.loops > 0:
		g.line(depth+1, "continue")
	case g.value:
		g.line(depth+1, "return %s", g.expr(1))
	default:
		g.line(depth+1, "return y")
	}
}

func (g *generator) name() string { return []string{"a", "b", "c"}[g.rng.IntN(3)] }

func (g *generator) expr(depth int) string {
	if depth == 0 || g.rng.IntN(3) == 0 {
		return []string{"a", "b", "c", "n", "2", "-3", "7"}[g.rng.IntN(7)]
	}
	x, y := g.expr(depth-1), g.expr(depth-1)
	switch g.rng.IntN(6) {
	case 0:
		return "(" + x + " + " + y + ")"
	case 1:
		return "(" + x + " - " + y + ")"
	case 2:
		return "(" + x + " * " + y + ") % 101"
	case 3:
		return "(" + x + ") // 3"
	case 4:
		return "(" + x + " if " + g.cond() + " else " + y + ")"
	default:
		return "min(" + x + ", " + y + ")"
	}
}

func (g *generator) cond() string {
	c := g.name() + []string{" < ", " > ", " == ", " != ", " <= "}[g.rng.IntN(5)] + g.expr(1)
	switch g.rng.IntN(5) {
	case 0:
		return c + " and " + g.name() + " != 0 and 12 // " + "(" + g.name() + " * 2 + 1) < 5"
	case 1:
		return c + " or not " + g.name() + " < 3"
	}
	return c
}

// simulate runs f on one simulated rank.
func simulate(t *testing.T, m *ir.Module, n int64) [4]int64 {
	t.Helper()
	if list := passes.Run(m, passes.Options{Passes: []string{"InlineFunctions"}}); list.HasErrors() {
		t.Fatal(list.Err())
	}
	mach, err := sim.New(sim.Config{Ranks: 1})
	if err != nil {
		t.Fatal(err)
	}
	code, err := mach.Compile(m.Func("f"))
	if err != nil {
		t.Fatal(err)
	}
	y := make([]byte, 32)
	if err := mach.Submit(0, code, []abi.Arg{{Tag: abi.TagHeap, Value: mach.AddHeap("y", y)}, {Value: n}}); err != nil {
		t.Fatal(err)
	}
	if err := mach.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	var out [4]int64
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(y[8*i:]))
	}
	return out
}

// interpret runs f as Python would.
func interpret(tree *syntax.File, n int64) [4]int64 {
	p := &python{funcs: map[string]*syntax.FuncDef{}}
	for _, s := range tree.Stmts {
		if d, ok := s.(*syntax.FuncDef); ok {
			p.funcs[d.Name.Text] = d
		}
	}
	p.call("f", []any{&p.y, n})
	return p.y
}

type python struct {
	funcs map[string]*syntax.FuncDef
	y     [4]int64
	vars  map[string]any
}

type (
	breaking   struct{}
	continuing struct{}
	returning  struct{ v any }
)

func (p *python) call(name string, args []any) any {
	d, saved := p.funcs[name], p.vars
	p.vars = map[string]any{}
	for i, q := range d.Params {
		p.vars[q.Name.Text] = args[i]
	}
	out := p.block(d.Body.Stmts)
	p.vars = saved
	if r, ok := out.(returning); ok {
		return r.v
	}
	return nil
}

// block returns what left it: nil, breaking, continuing or returning.
func (p *python) block(stmts []syntax.Stmt) any {
	for _, s := range stmts {
		if out := p.stmt(s); out != nil {
			return out
		}
	}
	return nil
}

func (p *python) stmt(s syntax.Stmt) any {
	switch s := s.(type) {
	case *syntax.AugAssign:
		name := s.Target.(*syntax.Name).Text
		p.vars[name] = p.vars[name].(int64) + p.int(s.Value)
	case *syntax.Assign:
		if t, ok := s.Value.(*syntax.Tuple); ok {
			u, v := p.int(t.Elts[0]), p.int(t.Elts[1])
			names := s.Targets[0].(*syntax.Tuple).Elts
			p.vars[names[0].(*syntax.Name).Text] = u
			p.vars[names[1].(*syntax.Name).Text] = v
			return nil
		}
		v := p.int(s.Value)
		switch t := s.Targets[0].(type) {
		case *syntax.Name:
			p.vars[t.Text] = v
		case *syntax.Index:
			p.y[p.int(t.Items[0])] = v
		}
	case *syntax.If:
		return p.branch(s)
	case *syntax.For:
		args := s.Iter.(*syntax.Call).Args
		step := p.int(args[2])
		for i, stop := p.int(args[0]), p.int(args[1]); step > 0 && i < stop || step < 0 && i > stop; i += step {
			p.vars[s.Target.(*syntax.Name).Text] = i
			switch out := p.block(s.Body.Stmts).(type) {
			case breaking:
				return nil
			case returning:
				return out
			}
		}
	case *syntax.While:
		for p.expr(s.Cond).(bool) {
			switch out := p.block(s.Body.Stmts).(type) {
			case breaking:
				return nil
			case returning:
				return out
			}
		}
	case *syntax.Break:
		return breaking{}
	case *syntax.Continue:
		return continuing{}
	case *syntax.Return:
		return returning{p.expr(s.Value)}
	}
	return nil
}

func (p *python) branch(s *syntax.If) any {
	if p.expr(s.Cond).(bool) {
		return p.block(s.Body.Stmts)
	}
	for _, e := range s.Elifs {
		if p.expr(e.Cond).(bool) {
			return p.block(e.Body.Stmts)
		}
	}
	if s.Else != nil {
		return p.block(s.Else.Stmts)
	}
	return nil
}

func (p *python) int(x syntax.Expr) int64 { return p.expr(x).(int64) }

func (p *python) expr(x syntax.Expr) any {
	switch x := syntax.Unparen(x).(type) {
	case *syntax.Name:
		return p.vars[x.Text]
	case *syntax.Int:
		return x.Value
	case *syntax.Bool:
		return x.Value
	case *syntax.Index:
		return p.y[p.int(x.Items[0])]
	case *syntax.Call:
		var args []any
		for _, a := range x.Args {
			args = append(args, p.expr(a))
		}
		if name := x.Fn.(*syntax.Name).Text; name != "min" {
			return p.call(name, args)
		}
		return min(args[0].(int64), args[1].(int64))
	case *syntax.Unary:
		if x.Op == syntax.Not {
			return !p.expr(x.X).(bool)
		}
		return -p.int(x.X)
	case *syntax.Cond:
		if p.expr(x.If).(bool) {
			return p.expr(x.Then)
		}
		return p.expr(x.Else)
	case *syntax.Compare:
		a, b := p.int(x.X), p.int(x.Rest[0])
		return map[syntax.Op]bool{syntax.Lt: a < b, syntax.Gt: a > b, syntax.Eq: a == b, syntax.Ne: a != b, syntax.Le: a <= b}[x.Ops[0]]
	case *syntax.Binary:
		return p.binary(x)
	}
	panic(fmt.Sprintf("%T", x))
}

func (p *python) binary(x *syntax.Binary) any {
	switch x.Op {
	case syntax.And:
		return p.expr(x.X).(bool) && p.expr(x.Y).(bool)
	case syntax.Or:
		return p.expr(x.X).(bool) || p.expr(x.Y).(bool)
	}
	a, b := p.int(x.X), p.int(x.Y)
	switch x.Op {
	case syntax.Add:
		return a + b
	case syntax.Sub:
		return a - b
	case syntax.Mul:
		return a * b
	case syntax.FloorDiv:
		return ir.FloorDiv(a, b)
	}
	return ir.FloorMod(a, b)
}
