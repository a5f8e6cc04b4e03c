package ir

// CloneModule copies a module. Ids and names stay, so the copy prints the same.
func CloneModule(m *Module) *Module {
	out := &Module{Name: m.Name, Syms: append([]string(nil), m.Syms...)}
	byOld := map[*Func]*Func{}
	for _, f := range m.Funcs {
		g := *f
		g.Body = &Block{}
		g.Dirs = append([]Dir(nil), f.Dirs...)
		byOld[f] = &g
		out.Funcs = append(out.Funcs, &g)
	}
	for i, f := range m.Funcs {
		c := NewCloner(out.Funcs[i])
		c.keepIDs = true
		c.Callee = func(f *Func) *Func {
			if g := byOld[f]; g != nil {
				return g
			}
			return f
		}
		c.Block(f.Body, out.Funcs[i].Body)
	}
	return out
}

// Cloner copies ops into a function. Operands that it has not copied and that were not mapped stay as
// they are. Types are carried over with values and symbols replaced; where a value was mapped to one of
// another type, call Retype afterwards.
type Cloner struct {
	To     *Func
	Dims   func(Atom) (Dim, bool) // replaces symbols, in types and constants; nil: none
	Callee func(*Func) *Func      // replaces callees; nil: none
	Build  *Builder               // where a symbol that becomes a run-time value is computed

	keepIDs bool
	vals    map[*Value]*Value
}

// NewCloner copies into the function to.
func NewCloner(to *Func) *Cloner { return &Cloner{To: to, vals: map[*Value]*Value{}} }

// Map makes the copies use new for old.
func (c *Cloner) Map(old, new *Value) { c.vals[old] = new }

// Value is what the copies use for v.
func (c *Cloner) Value(v *Value) *Value {
	if w, ok := c.vals[v]; ok {
		return w
	}
	if v.IsConst() && c.Dims != nil && len(v.Const.Dim.terms) > 0 {
		if _, ok := v.Const.Dim.Const(); !ok {
			d := v.Const.Dim.Subst(c.Dims)
			w := &Value{Type: v.Type, Const: &Const{Dim: d}}
			if c.Build != nil && d.HasValues() {
				w = c.Build.Dim(d)
			}
			c.vals[v] = w
			return w
		}
	}
	return v
}

// Values maps Value.
func (c *Cloner) Values(vs []*Value) []*Value {
	out := make([]*Value, len(vs))
	for i, v := range vs {
		out[i] = c.Value(v)
	}
	return out
}

// Block appends copies of src's arguments and ops to dst.
func (c *Cloner) Block(src, dst *Block) {
	for _, v := range src.Args {
		w := c.newValue(v)
		w.Owner = dst
		dst.Args = append(dst.Args, w)
	}
	c.Ops(src.Ops, dst)
}

// Ops appends copies of ops to dst.
func (c *Cloner) Ops(ops []*Op, dst *Block) {
	for _, op := range ops {
		out := c.Op(op) // first: it may build dims at the end of dst
		dst.Ops = append(dst.Ops, out)
	}
}

// Op copies one op with its regions; the copy is in no block yet.
func (c *Cloner) Op(op *Op) *Op {
	out := &Op{Kind: op.Kind, Args: make([]Arg, len(op.Args)), Span: op.Span}
	for i, a := range op.Args {
		if a.Vals != nil {
			out.Args[i].Vals = c.Values(a.Vals)
		}
		out.Args[i].Attr = a.Attr
		if f, ok := a.Attr.(*Func); ok && c.Callee != nil {
			out.Args[i].Attr = c.Callee(f)
		}
	}
	for _, r := range op.Regions {
		b := &Block{Parent: out}
		c.Block(r, b)
		out.Regions = append(out.Regions, b)
	}
	for _, v := range op.Results {
		w := c.newValue(v)
		w.Def = out
		out.Results = append(out.Results, w)
	}
	return out
}

func (c *Cloner) newValue(v *Value) *Value {
	w := &Value{ID: v.ID, Name: v.Name, Type: c.Type(v.Type), Arena: v.Arena}
	if !c.keepIDs {
		w.ID = c.To.NewValue("", nil).ID
	}
	c.vals[v] = w
	return w
}

// Type is t with values and symbols replaced.
func (c *Cloner) Type(t Type) Type {
	if c.Dims == nil && !typeHasValues(t) {
		return t
	}
	return SubstType(t, func(a Atom) (Dim, bool) {
		if a.Op == AtomVal {
			if w, ok := c.vals[a.Val]; ok {
				return DimOf(w), true
			}
			return Dim{}, false
		}
		if c.Dims != nil {
			return c.Dims(a)
		}
		return Dim{}, false
	})
}

func typeHasValues(t Type) bool {
	switch t := t.(type) {
	case *Tensor:
		return dimsHaveValues(t.Dims)
	case *Tile:
		return dimsHaveValues(t.Dims) || dimsHaveValues(t.Cap)
	case *Buffer:
		return t.Bytes.HasValues()
	case *Tuple:
		for _, e := range t.Elems {
			if typeHasValues(e) {
				return true
			}
		}
	}
	return false
}

func dimsHaveValues(ds []Dim) bool {
	for _, d := range ds {
		if d.HasValues() {
			return true
		}
	}
	return false
}
