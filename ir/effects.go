package ir

// Root follows a chain of views (slice, reshape, peer_view) to the memory that it views: a parameter, a
// created tensor or a window. peer is the rank whose copy is viewed; nil for this rank's own.
func Root(v *Value) (root, peer *Value) {
	for v.Def != nil {
		switch v.Def.Kind {
		case Slice, Reshape:
			v = v.Def.Val("x")
		case Peer:
			if peer == nil {
				peer = v.Def.Val("peer")
			}
			v = v.Def.Val("target")
		default:
			return v, peer
		}
	}
	return v, peer
}

// Allocation is Root, and from a window on to its buffer: two windows of one buffer share memory.
func Allocation(v *Value) *Value {
	root, _ := Root(v)
	if root.Def != nil && root.Def.Kind == Window {
		return root.Def.Val("buffer")
	}
	return root
}

// MemEffect is one effect of an op as it stands in a program.
type MemEffect struct {
	Kind EffectKind
	Mem  *Value // the root of the memory; nil for effects without memory
	View *Value // the operand itself
	Peer *Value // the rank whose copy is touched; nil: this rank's own
	Op   *Op    // the op that has the effect: op itself, or one in its regions or callees
	Row  *Effect
}

// EffectsOf lists what op does to memory and signals, with everything in its regions and callees.
// Memory that a callee makes for itself is left out.
func EffectsOf(op *Op) []MemEffect {
	e := effects{callees: map[*Func][]MemEffect{}}
	e.op(op)
	return e.out
}

// FuncEffects lists what a call of f does, in terms of its parameters.
func FuncEffects(f *Func) []MemEffect {
	e := effects{callees: map[*Func][]MemEffect{}}
	return e.callee(f)
}

type effects struct {
	out     []MemEffect
	callees map[*Func][]MemEffect // memory is the callee's parameters
}

func (e *effects) op(op *Op) {
	for i := range op.Kind.Effects {
		row := &op.Kind.Effects[i]
		switch {
		case row.Kind == Calls:
			e.call(op)
		case row.Mem == "":
			e.out = append(e.out, MemEffect{Kind: row.Kind, Op: op, Row: row})
		default:
			for _, v := range op.Vals(row.Mem) {
				e.mem(op, row, v)
			}
		}
	}
	for _, r := range op.Regions {
		for _, inner := range r.Ops {
			e.op(inner)
		}
	}
}

// mem adds an effect on memory. Through a peer view, reads and writes are remote.
func (e *effects) mem(op *Op, row *Effect, v *Value) {
	if _, ok := v.Type.(*Tensor); !ok {
		return // a tile: no memory
	}
	root, peer := Root(v)
	m := MemEffect{Kind: row.Kind, Mem: root, View: v, Peer: peer, Op: op, Row: row}
	if row.Peer != "" {
		m.Peer = op.Val(row.Peer)
	}
	if peer != nil {
		switch row.Kind {
		case Reads:
			m.Kind = RemoteReads
		case Writes:
			m.Kind = RemoteWrites
		}
	}
	e.out = append(e.out, m)
}

func (e *effects) call(op *Op) {
	f := op.Callee()
	args := op.Vals("args")
	for _, m := range e.callee(f) {
		m.Op = op
		if m.Mem != nil {
			i := paramIndex(f, m.Mem)
			if i < 0 || i >= len(args) {
				continue
			}
			m.View = args[i]
			m.Mem, m.Peer = Root(args[i])
		}
		e.out = append(e.out, m)
	}
}

func (e *effects) callee(f *Func) []MemEffect {
	if got, ok := e.callees[f]; ok {
		return got // also ends recursion
	}
	e.callees[f] = nil
	saved := e.out
	e.out = nil
	for _, op := range f.Body.Ops {
		e.op(op)
	}
	got := e.out
	e.out = saved
	e.callees[f] = got
	return got
}

func paramIndex(f *Func, v *Value) int {
	for i, p := range f.Params() {
		if p == v {
			return i
		}
	}
	return -1
}

// IsPure reports whether op, with its regions and callees, has no effect at all and always ends.
func IsPure(op *Op) bool { return onlyEffects(op, nil) }

// Removable reports whether op may go when nobody uses its results: it writes nothing, signals
// nothing, waits for nothing and always ends.
func Removable(op *Op) bool {
	if op.Kind == Fused && len(op.Vals("ins"))+len(op.Vals("outs")) == 0 && op.Arg("cap").Given() {
		return false // it is there to check its extents
	}
	return onlyEffects(op, []EffectKind{Reads, RemoteReads, Allocates})
}

func onlyEffects(op *Op, allowed []EffectKind) bool {
	if op.Kind.Terminator || op.Kind == While || op.Kind == Cond {
		return false
	}
	for _, e := range op.Kind.Effects {
		ok := false
		for _, a := range allowed {
			ok = ok || e.Kind == a
		}
		// A fused loop without outs writes nothing.
		if !ok && !(op.Kind == Fused && e.Kind == Writes && len(op.Vals("outs")) == 0) {
			return false
		}
	}
	for _, r := range op.Regions {
		for _, inner := range r.Ops {
			if inner.Kind != Yield && !onlyEffects(inner, allowed) {
				return false
			}
		}
	}
	return true
}
