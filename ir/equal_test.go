package ir

import (
	"strings"
	"testing"
)

// pair makes the same small function twice and lets change alter the second.
func pair(t *testing.T, change func(f *Func)) (a, b *Module) {
	t.Helper()
	build := func() *Func {
		f, b := kernel(InCore)
		tile := b.Add(Load).Set("tensor", f.Params()[0]).Set("offsets", Index(0), Index(4)).Set("shape", Index(1), Index(8)).Name("t").Must().Result()
		loop, body := b.For("range", Index(0), f.Params()[2], Index(1), tile)
		body.Yield(val(t)(body.Binary(Add, body.Block.Args[1], tile)))
		b.Add(Store).Set("tile", loop.Result()).Set("offsets", Index(0), Index(0)).Set("tensor", f.Params()[1]).Must()
		return f
	}
	a, b = &Module{Funcs: []*Func{build()}, Syms: []string{"NR"}}, &Module{Funcs: []*Func{build()}, Syms: []string{"NR"}}
	change(b.Funcs[0])
	return a, b
}

func TestEqualSaysWhereModulesFirstDiffer(t *testing.T) {
	tests := []struct {
		name   string
		change func(f *Func)
		want   string // "" : equal
	}{
		{"nothing", func(f *Func) {}, ""},
		{"names", func(f *Func) { f.Body.Ops[0].Results[0].Name = "other" }, ""},
		{"an attribute spelled out", func(f *Func) { f.Body.Ops[2].SetAttr("stream", false) }, ""},
		{"an empty return", func(f *Func) { NewBuilder(f, f.Body).Return() }, ""},
		{"a constant", func(f *Func) { f.Body.Ops[0].Args[1].Vals[1] = Index(5) },
			"function step, pl.load that gives t: offsets is 4 on the left, 5 on the right"},
		{"an operand", func(f *Func) { y := f.Body.Ops[1].Regions[0].Ops[0]; y.Args[1].Vals[0] = y.Args[0].Vals[0] },
			"function step, pl.add that gives v: rhs is t on the left, t_1 on the right"},
		{"a missing op", func(f *Func) { f.Body.Ops = f.Body.Ops[:2] }, "function step, pl.store: it is missing on the right"},
		{"another op", func(f *Func) { NewBuilder(f, f.Body).Add(Fence).Must() }, "function step, pl.store: after it there is pl.system.fence on the right"},
		{"a kind", func(f *Func) { f.Body.Ops[1].Regions[0].Ops[0].Kind = Sub }, "function step, pl.add that gives v: on the right there is pl.sub"},
		{"an attribute", func(f *Func) { f.Body.Ops[2].SetAttr("stream", true) },
			"function step, pl.store: stream is False on the left, True on the right"},
		{"a parameter's type", func(f *Func) { f.Params()[2].Type = &Scalar{INT32} },
			"function step: parameter n is a pl.Scalar[pl.INDEX] on the left, a pl.Scalar[pl.INT32] on the right"},
		{"a direction", func(f *Func) { f.Dirs[1] = InOut }, "function step: parameter y is Out on the left, InOut on the right"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := pair(t, tt.change)
			err := Equal(a, b)
			if got := errText(err); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTypesThatMentionValuesCompareUpToRenaming(t *testing.T) {
	build := func(extra bool) *Module {
		f, b := kernel(InCore)
		if extra { // shifts all ids
			b.Add(BlockIdx).Must()
			f.Body.Ops = nil
		}
		v := val(t)
		m := v(b.Binary(Minimum, f.Params()[2], Index(8)))
		k := b.Add(BlockNum).Must().Result()
		for _, n := range []*Value{m, v(b.Binary(Add, k, m))} {
			b.Add(Load).Set("tensor", f.Params()[0]).Set("offsets", Index(0), Index(0)).Set("shape", Index(1), Index(8)).
				Set("valid_shape", Index(1), n).Must()
		}
		return &Module{Funcs: []*Func{f}}
	}
	if err := Equal(build(false), build(true)); err != nil {
		t.Error(err)
	}
}

func TestVerifyFindsWhatBreaksTheIR(t *testing.T) {
	tests := []struct {
		name   string
		change func(f *Func)
		want   string
	}{
		{"use before definition", func(f *Func) { o := f.Body.Ops; o[0], o[1] = o[1], o[0] }, "which is not visible there"},
		{"use of a loop's inside", func(f *Func) { f.Body.Ops[2].Set("tile", f.Body.Ops[1].Regions[0].Args[1]) }, "tile uses t, which is not visible there"},
		{"a stale type", func(f *Func) {
			f.Body.Ops[0].Results[0].Type = &Tile{Dims: []Dim{ConstDim(1), ConstDim(9)}, DType: FP32}
		}, "result t is a pl.Tile[[1, 9], pl.FP32], its operands give a pl.Tile[[1, 8], pl.FP32]"},
		{"a yield too few", func(f *Func) { f.Body.Ops[1].Regions[0].Terminator().Set("values") }, "its region yields 0 values instead of 1"},
		{"a value twice", func(f *Func) { f.Body.Ops = append(f.Body.Ops, f.Body.Ops[0]) }, "is defined twice"},
		{"a stolen region", func(f *Func) { f.Body.Ops[1].Regions[0].Parent = nil }, "its region belongs to another op"},
		{"an op in the wrong function", func(f *Func) { f.Kind = Host }, "it may stand only in"},
		{"an undeclared symbol", func(f *Func) { f.Params()[0].Type = &Tensor{Dims: []Dim{SymDim("Q"), ConstDim(64)}, DType: FP32} }, "uses the symbol Q, which is not declared"},
		{"a missing operand", func(f *Func) { f.Body.Ops[0].Args[0] = Arg{} }, "pl.load needs tensor"},
		{"a wrong operand", func(f *Func) { f.Body.Ops[0].Set("tensor", f.Params()[2]) }, "pl.load tensor must be a tensor, got pl.Scalar[pl.INDEX]"},
		{"ops after the return", func(f *Func) {
			b := NewBuilder(f, f.Body)
			b.Return()
			b.Add(Fence).Must()
		}, "ops follow it"},
		{"an unfolded op", func(f *Func) { NewBuilder(f, f.Body).Add(Add).Set("lhs", Index(1)).Set("rhs", Index(2)).Must() }, "was not folded"},
		{"a constant with a value in it", func(f *Func) { f.Body.Ops[0].Args[1].Vals[0] = DimValue(DimOf(f.Params()[2])) }, "a constant that mentions a run-time value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, m := pair(t, tt.change)
			var all []string
			for _, err := range Verify(m) {
				all = append(all, err.Error())
			}
			if got := strings.Join(all, "\n"); !strings.Contains(got, tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	a, _ := pair(t, func(*Func) {})
	if errs := Verify(a); len(errs) > 0 {
		t.Errorf("a valid module: %v", errs)
	}
}
