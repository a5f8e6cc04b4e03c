package ir

import "testing"

func TestRetypeFollowsAReplacedValue(t *testing.T) {
	f, b := kernel(InCore)
	v := val(t)
	k := b.Add(BlockIdx).Must().Result()
	n := v(b.Binary(Add, k, Index(4)))
	load := b.Add(Load).Set("tensor", f.Params()[0]).Set("offsets", Index(0), Index(0)).Set("shape", Index(1), Index(8)).
		Set("valid_shape", Index(1), n).Must()
	c := v(b.Compare("LT", n, Index(9)))
	op, then, els := b.If(c)
	then.Yield(v(then.Binary(Add, load.Result(), FloatValue(1, FP32))))
	els.Yield(v(els.Binary(Mul, load.Result(), FloatValue(2, FP32))))
	if err := b.Finish(op); err != nil {
		t.Fatal(err)
	}
	b.Add(Store).Set("tile", op.Result()).Set("offsets", Index(0), Index(0)).Set("tensor", f.Params()[1]).Must()

	f.ReplaceAll(k, Index(2))
	if err := Retype(f); err != nil {
		t.Fatal(err)
	}
	want := `@pl.jit.incore
def step(x: pl.Tensor[[NR, 64], pl.FP32], y: pl.Out[pl.Tensor[[NR, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    v = pl.get_block_idx()
    v_1 = pl.load(x, [0, 0], [1, 8], valid_shape=[1, 6])
    v_2 = v_1 + 1.0
    pl.store(v_2, [0, 0], y)
`
	if got := PrintFunc(f); got != want {
		t.Errorf("got\n%s", got)
	}
	if d := load.Result().Type.(*Tile).Dims[1]; !d.Is(6) {
		t.Errorf("the tile is still %s wide", d)
	}
}

func TestRetypeReportsTheOpThatNoLongerFits(t *testing.T) {
	f, b := kernel(InCore)
	b.Add(Load).Set("tensor", f.Params()[0]).Set("offsets", Index(0), f.Params()[2]).Set("shape", Index(1), Index(8)).Must()
	f.ReplaceAll(f.Params()[2], Index(60))
	err := Retype(f)
	if e, ok := err.(*RetypeError); !ok || e.Op.Kind != Load {
		t.Errorf("got %v", err)
	}
}

func TestCloningReplacesSymbolsAndValues(t *testing.T) {
	f, b := kernel(Inline)
	b.Add(Load).Set("tensor", f.Params()[0]).Set("offsets", DimValue(SymDim("NR").Sub(ConstDim(1))), Index(0)).Set("shape", Index(1), Index(8)).Must()
	g := NewFunc("g", InCore, none)
	x := g.AddParam("x", &Tensor{Dims: []Dim{ConstDim(4), ConstDim(64)}, DType: FP32}, In)
	c := NewCloner(g)
	c.Map(f.Params()[0], x)
	c.Dims = DimBinding{"NR": ConstDim(4)}.Subst
	c.Ops(f.Body.Ops, g.Body)
	want := `@pl.jit.incore
def g(x: pl.Tensor[[4, 64], pl.FP32]):
    v = pl.load(x, [3, 0], [1, 8])
`
	if got := PrintFunc(g); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestEffectsSeeThroughViewsRegionsAndCalls(t *testing.T) {
	sig := &Tensor{Dims: []Dim{ConstDim(4), ConstDim(1)}, DType: INT32, Window: true}
	callee := NewFunc("callee", InCore, none)
	s := callee.AddParam("s", sig, InOut)
	b := NewBuilder(callee, callee.Body)
	_, body := b.For("range", Index(0), Index(4), Index(1))
	body.Add(Notify).Set("target", s).Set("peer", body.Block.Args[0]).Set("offsets", Index(0), Index(0)).Set("value", Index(1)).Must()

	f := NewFunc("f", Chip, none)
	data := f.AddParam("data", &Tensor{Dims: []Dim{ConstDim(4), ConstDim(8)}, DType: FP32, Window: true}, InOut)
	cells := f.AddParam("cells", sig, InOut)
	b = NewBuilder(f, f.Body)
	call, err := b.Call(callee, cells)
	if err != nil {
		t.Fatal(err)
	}
	remote := b.Add(Peer).Set("target", data).Set("peer", Index(1)).Must().Result()
	row := b.Add(Slice).Set("x", remote).Set("shape", Index(1), Index(8)).Set("offsets", Index(0), Index(0)).Must().Result()
	load := b.Add(Load).Set("tensor", row).Set("offsets", Index(0), Index(0)).Set("shape", Index(1), Index(8)).Must()

	e := EffectsOf(call)
	if len(e) != 1 || e[0].Kind != Signals || e[0].Mem != cells || e[0].Op != call {
		t.Errorf("call: %+v", e)
	}
	e = EffectsOf(load)
	if len(e) != 1 || e[0].Kind != RemoteReads || e[0].Mem != data || !isIndexConst(e[0].Peer, 1) {
		t.Errorf("load: %+v", e)
	}
	if !Removable(load) || IsPure(load) || Removable(call) {
		t.Error("a load may be removed but is not pure; the call may not")
	}
	uses := Uses(f)
	if u := uses[data]; len(u) != 1 || u[0].Op.Kind != Peer {
		t.Errorf("uses of data: %+v", u)
	}
}

func TestDimsBecomeOpsOnlyWhereTheyDependOnRunTimeValues(t *testing.T) {
	f, b := kernel(InCore)
	n := DimOf(f.Params()[2])
	if v := b.Dim(SymDim("NR").Scale(4)); !v.IsConst() || len(f.Body.Ops) > 0 {
		t.Error("a symbolic dim is a constant")
	}
	d := n.Mul(SymDim("NR")).Scale(2).Add(n.Div(ConstDim(3))).Sub(ConstDim(1))
	if v := b.Dim(d); v.IsConst() || !DimOf(v).Equal(d) {
		t.Errorf("got %s, want %s", DimOf(v), d)
	}
}
