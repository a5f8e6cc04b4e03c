package passes

import "ptoc/ir"

// The second half of PipelineLoads: turns of a loop, written out with the loads of later ones in them.

// turns puts turns of a loop, one after the other, where to points.
type turns struct {
	*pipelined
	lead    int64         // how many turns loads run ahead
	carried []*ir.Value   // what the loop carries
	tiles   [][]*ir.Value // of the turns whose loads have begun
}

// rewrite replaces the loop.
func (p *pipelined) rewrite(stages int64) {
	b := blockAround(p.f.Body, p.loop)
	at := 0
	for b.Ops[at] != p.loop {
		at++
	}
	to := ir.Before(p.f, b, at).At(p.loop.Span)
	t := &turns{pipelined: p, lead: stages - 1, carried: p.loop.Vals("init_values")}
	start := must(to.Cast(p.loop.Val("start"), ir.INDEX))
	if n, known := trips(p.loop); known {
		t.known(to, start, n)
		b.Ops = append(b.Ops[:to.Pos], b.Ops[to.Pos+1:]...)
		by := map[*ir.Value]*ir.Value{}
		for i, r := range p.loop.Results {
			by[r] = t.carried[i]
		}
		p.f.Replace(by)
		return
	}
	t.unknown(to, start)
}

func must(v *ir.Value, err error) *ir.Value {
	if err != nil {
		panic(err) // arithmetic on loop bounds
	}
	return v
}

func blockAround(b *ir.Block, op *ir.Op) *ir.Block {
	for _, o := range b.Ops {
		if o == op {
			return b
		}
		for _, r := range o.Regions {
			if found := blockAround(r, op); found != nil {
				return found
			}
		}
	}
	return nil
}

// known writes a loop of n turns.
func (t *turns) known(to *ir.Builder, start *ir.Value, n int64) {
	stages := t.lead + 1
	whole := (n - t.lead) / stages * stages
	if whole <= stages {
		whole = 0 // no loop for one turn of it
	}
	t.begin(to, start)
	if whole > 0 {
		t.main(to, start, t.counter(to, start, whole))
	}
	for i := whole; i < n; i++ {
		if i+t.lead < n {
			t.load(to, t.counter(to, start, i+t.lead))
		}
		t.rest(to, t.counter(to, start, i))
	}
}

// unknown writes a loop whose number of turns is known only when it runs: if there are enough, most of them run
// with loads ahead; the loop that was there does what remains.
func (t *turns) unknown(to *ir.Builder, start *ir.Value) {
	calc := func(k *ir.Kind, x, y *ir.Value) *ir.Value { return must(to.Binary(k, x, y)) }
	end := must(to.Cast(t.loop.Val("stop"), ir.INDEX))
	if !t.facts.Nonneg(ir.DimOf(end).Sub(ir.DimOf(start))) {
		end = calc(ir.Maximum, end, start)
	}
	span := calc(ir.Sub, end, start)
	n := calc(ir.FloorDivide, calc(ir.Add, span, ir.Index(t.step-1)), ir.Index(t.step))
	// Of n turns, lead can only be ahead: the main loop does a multiple of stages, the lead turns after it
	// find their tiles loaded.
	stages := ir.Index(t.lead + 1)
	whole := calc(ir.Mul, calc(ir.FloorDivide, calc(ir.Sub, n, ir.Index(t.lead)), stages), stages)
	inits := t.carried

	// The arm that only hands on stands first, so that the other one may update its tiles in place.
	few := must(to.Compare("LT", n, ir.Index(t.lead)))
	op, then, els := to.If(few)
	then.Yield(inits...)
	t.begin(els, start)
	stop := must(els.Binary(ir.Add, start, must(els.Binary(ir.Mul, whole, ir.Index(t.step)))))
	t.main(els, start, stop)
	for i := range t.lead {
		t.rest(els, t.counter(els, stop, i))
	}
	els.Yield(t.carried...)
	var names []string
	for _, v := range inits {
		names = append(names, v.Name)
	}
	if err := to.Finish(op, names...); err != nil {
		panic(err)
	}
	done := calc(ir.Maximum, calc(ir.Add, whole, ir.Index(t.lead)), ir.Index(0))
	t.loop.Set("start", calc(ir.Add, start, calc(ir.Mul, done, ir.Index(t.step))))
	if len(inits) > 0 {
		t.loop.Set("init_values", op.Results...)
	}
	t.loop.SetAttr("kind", ir.LoopKind.Of("pipeline"))
	t.loop.Args[ir.For.ParamIndex("stage")] = ir.Arg{}
}

// begin starts the loads of the first turns.
func (t *turns) begin(to *ir.Builder, start *ir.Value) {
	for i := range t.lead {
		t.load(to, t.counter(to, start, i))
	}
}

// main is the loop from start to stop, a turn for each place in one of its own.
func (t *turns) main(to *ir.Builder, start, stop *ir.Value) {
	inits := append([]*ir.Value(nil), t.carried...)
	for _, tiles := range t.tiles {
		inits = append(inits, tiles...)
	}
	loop, body := to.For("pipeline", start, stop, ir.Index(t.step*(t.lead+1)), inits...)
	i := body.Block.Args[0]
	i.Name = t.loop.Regions[0].Args[0].Name
	t.take(body.Block.Args[1:])
	for j := range t.lead + 1 {
		t.load(body, t.counter(body, i, j+t.lead))
		t.rest(body, t.counter(body, i, j))
	}
	yields := append([]*ir.Value(nil), t.carried...)
	for _, tiles := range t.tiles {
		yields = append(yields, tiles...)
	}
	body.Yield(yields...)
	t.take(loop.Results)
}

// take goes on with what a loop carries.
func (t *turns) take(vs []*ir.Value) {
	n := len(t.carried)
	t.carried = vs[:n:n]
	for i := range t.tiles {
		t.tiles[i] = vs[n : n+len(t.loads)]
		n += len(t.loads)
	}
}

// counter is from, i turns later.
func (t *turns) counter(to *ir.Builder, from *ir.Value, i int64) *ir.Value {
	if i == 0 {
		return from
	}
	return must(to.Binary(ir.Add, from, ir.Index(i*t.step)))
}

// load starts the loads of a turn.
func (t *turns) load(to *ir.Builder, counter *ir.Value) {
	c := ir.NewCloner(t.f)
	c.Map(t.loop.Regions[0].Args[0], counter)
	t.copy(c, to, func(op *ir.Op) bool { return t.ahead[op] })
	var tiles []*ir.Value
	for _, l := range t.loads {
		tiles = append(tiles, c.Value(l.Result()))
	}
	t.tiles = append(t.tiles, tiles)
}

// rest is a turn without its loads: it takes the tiles that were begun first.
func (t *turns) rest(to *ir.Builder, counter *ir.Value) {
	body := t.loop.Regions[0]
	c := ir.NewCloner(t.f)
	c.Map(body.Args[0], counter)
	for i, v := range t.carried {
		c.Map(body.Args[i+1], v)
	}
	loaded := map[*ir.Op]bool{}
	for i, l := range t.loads {
		c.Map(l.Result(), t.tiles[0][i])
		loaded[l] = true
	}
	t.tiles = t.tiles[1:]
	t.copy(c, to, func(op *ir.Op) bool { return !loaded[op] && op.Kind != ir.Yield })
	if len(t.carried) > 0 {
		t.carried = c.Values(body.Terminator().Vals("values"))
	}
}

func (t *turns) copy(c *ir.Cloner, to *ir.Builder, which func(*ir.Op) bool) {
	for _, op := range t.loop.Regions[0].Ops {
		if which(op) {
			to.Insert(c.Op(op))
		}
	}
}
