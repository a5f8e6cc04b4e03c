package load

import (
	"fmt"
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/lang/source"
	"ptoc/passes"
	"ptoc/verify"
)

// A mutant is one fault in one synchronisation op of the lowered IR.
type mutation struct {
	name  string
	apply func(b *ir.Block, i int) bool // false: does not fit the op
}

var mutations = []mutation{
	{"drop", func(b *ir.Block, i int) bool { b.Ops = append(b.Ops[:i:i], b.Ops[i+1:]...); return true }},
	{"twice", func(b *ir.Block, i int) bool {
		b.Ops = append(b.Ops[:i:i], append([]*ir.Op{b.Ops[i]}, b.Ops[i:]...)...)
		return b.Ops[i].Kind == ir.Notify
	}},
	{"set for add", func(b *ir.Block, i int) bool {
		set := b.Ops[i].Kind == ir.Notify && b.Ops[i].Enum("op").Is("Set")
		b.Ops[i] = with(b.Ops[i], func(op *ir.Op) { op.SetAttr("op", ir.NotifyOp.Of("Set")) })
		return b.Ops[i].Kind == ir.Notify && !set
	}},
	{"expected - 1", func(b *ir.Block, i int) bool { return shift(b, i, "expected", -1) }},
	{"expected + 1", func(b *ir.Block, i int) bool { return shift(b, i, "expected", 1) }},
	{"value + 1", func(b *ir.Block, i int) bool { return shift(b, i, "value", 1) }},
	{"value - 1", func(b *ir.Block, i int) bool { return shift(b, i, "value", -1) }},
}

// equivalent are mutants, by collective and kind, that behave like the original in every schedule.
var equivalent = map[string]string{
	"allreduce-ring: set for add":    "the cell is 0 at this notify: its owner has taken the last credit back, by the steps in between",
	"allreduce-auto: twice":          "a mark that is set twice is set: it changes only two calls later",
	"allreduce-central: set for add": "the cell is 0 at this notify: its owner takes a credit back before it answers, and the answer comes before the next one",
}

// with is a copy of a notify or wait, changed.
func with(op *ir.Op, change func(*ir.Op)) *ir.Op {
	if op.Kind != ir.Notify {
		return op
	}
	c := *op
	c.Args = append([]ir.Arg(nil), op.Args...)
	change(&c)
	return &c
}

// shift adds to an operand, where that is a constant or computed from one.
func shift(b *ir.Block, i int, param string, by int64) bool {
	op := b.Ops[i]
	if op.Kind.ParamIndex(param) < 0 {
		return false
	}
	v := op.Val(param)
	c := *op
	c.Args = append([]ir.Arg(nil), op.Args...)
	if n, ok := v.ConstInt(); ok {
		c.Set(param, ir.Index(n+by))
		b.Ops[i] = &c
		return true
	}
	return false
}

// mutants calls fn for every single-fault mutant of the synchronisation in m's kernels.
func mutants(m *ir.Module, fn func(name string, mutant *ir.Module)) {
	count := 0
	visit(m, func(*ir.Block, int) { count++ })
	for k := range count {
		for _, mut := range mutations {
			c := ir.CloneModule(m)
			at, n, fits, what := 0, k, false, ""
			visit(c, func(b *ir.Block, i int) {
				if at == n {
					op := b.Ops[i]
					what = fmt.Sprintf("%s of %s number %d", mut.name, op.Kind.Name, n)
					fits = mut.apply(b, i)
				}
				at++
			})
			if fits {
				fn(what, c)
			}
		}
	}
}

// visit calls fn for every notify and wait of the kernels. fn may change the block.
func visit(m *ir.Module, fn func(b *ir.Block, i int)) {
	var walk func(b *ir.Block)
	walk = func(b *ir.Block) {
		for i, op := range append([]*ir.Op(nil), b.Ops...) {
			if op.Kind == ir.Notify || op.Kind == ir.Wait {
				fn(b, i)
			}
			for _, r := range op.Regions {
				walk(r)
			}
		}
	}
	for _, f := range m.Funcs {
		if f.Kind == ir.InCore || f.Kind == ir.Chip {
			walk(f.Body)
		}
	}
}

func TestEveryMutantOfTheLibrarysSynchronisationIsFound(t *testing.T) {
	killed, all := map[string]int{}, 0
	for _, c := range collectives {
		u, err := Source(source.NewFile(c.name+".pl", c.program()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		lowered := ir.CloneModule(u.Checked)
		// With a number of ranks the program contains only the algorithm that runs.
		if l := passes.Run(lowered, passes.Options{Passes: frontPasses(), Ranks: 3}); l.HasErrors() {
			t.Fatal(l)
		}
		mutants(lowered, func(name string, m *ir.Module) {
			all++
			by := killer(t, u, m)
			kind, _, _ := strings.Cut(name, " of ")
			switch {
			case by == "" && equivalent[c.name+": "+kind] != "":
				killed["equivalent"]++
			case by == "":
				t.Errorf("%s: survives: %s", c.name, name)
			default:
				killed[by]++
			}
		})
	}
	t.Logf("%d mutants, killed by layer: %v", all, killed)
}

func frontPasses() []string {
	var names []string
	for _, p := range passes.Passes() {
		if p.Name == firstOfBackend {
			break
		}
		names = append(names, p.Name)
	}
	return names
}

// killer is the first layer that does not prove the mutant right at 2 or 3 ranks.
func killer(t *testing.T, u *Unit, m *ir.Module) string {
	for _, n := range []int{2, 3} {
		p, err := verify.NewProgram(u.File.Name, u.Checked, m, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range verify.Check(p, static, []verify.Scope{p.Scope(n, 1, nil)}).Verdicts {
			if v.Status == verify.Counterexample {
				return v.Layer
			}
		}
		for _, v := range verify.Check(p, static, []verify.Scope{p.Scope(n, 1, nil)}).Verdicts {
			for _, f := range v.Findings {
				return v.Layer + " (" + f.Severity.String() + ")"
			}
			if v.Status != verify.Proved {
				return v.Layer + " (not checked)"
			}
		}
	}
	return ""
}
