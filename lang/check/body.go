package check

import (
	"fmt"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// A fn checks one body, or (with f == nil) evaluates constants.
type fn struct {
	*checker
	list    *diag.List // hides the checker's while something is tried out
	unit    *unit
	in      *instance
	f       *ir.Func
	b       *ir.Builder
	env     *env
	dtypes  map[string]ir.DType
	flow    *flow
	yielded *yielded // what the last statement of the current block yields
	loops   int      // loops around, for pl.break-like statements of the explicit form
	arena   map[string]ir.Dim
	values  map[string]*ir.Value // by name hint, for pl.func_attr
	rebound map[string]rebinding // Out parameters whose name a value took
	silent  bool                 // what is reported is dropped
	gaveUp  bool                 // some value is bad
}

// A rebinding is an assignment of a value to the name of an output.
type rebinding struct {
	at   source.Span
	what string
}

// constFn evaluates constants in the module scope of u.
func (c *checker) constFn(u *unit) *fn {
	return &fn{checker: c, list: c.list, unit: u, env: u.globals}
}

func (f *fn) errorf(code diag.Code, at source.Span, format string, args ...any) *diag.Diagnostic {
	return f.list.Errorf(code, at, format, args...)
}

// quietly runs fn and drops what it reports.
func (f *fn) quietly(fn func() value) value {
	saved, silent := f.list, f.silent
	f.list, f.silent = &diag.List{}, true
	v := fn()
	f.list, f.silent = saved, silent
	return v
}

// A bindings gives compile-time parameters and element type variables their values.
type bindings struct {
	consts map[string]value
	dtypes map[string]ir.DType
}

// instantiate finds or checks the instance of d for these bindings. at is the call.
func (c *checker) instantiate(d *decl, b *bindings, at source.Span) *instance {
	key := d.key(b)
	for _, in := range d.instances {
		if in.key == key {
			return in
		}
	}
	c.poll()
	in := &instance{decl: d, key: key, wrote: map[*ir.Value]bool{}}
	d.instances = append(d.instances, in)
	before := c.list.Errors()
	c.guard(d.node.Name.At, func() { c.checkBody(in, b) })
	in.done = true
	in.failed = c.list.Errors() > before
	return in
}

// key tells instances apart and names them: combine__FP32_Sum.
func (d *decl) key(b *bindings) string {
	if b == nil {
		return d.name
	}
	var parts []string
	seen := map[string]bool{}
	for _, p := range d.params {
		if p.annot.open != "" && !seen[p.annot.open] {
			seen[p.annot.open] = true
			parts = append(parts, b.dtypes[p.annot.open].String())
		}
		if v, ok := b.consts[p.name]; ok {
			parts = append(parts, mangle(v))
		}
	}
	return d.name + "__" + strings.Join(parts, "_")
}

func mangle(v value) string {
	s := ""
	switch v := v.(type) {
	case bool:
		s = map[bool]string{true: "yes", false: "no"}[v]
	case ir.Enum:
		s = v.Type.Values[v.Value]
	case ir.Dim:
		s = v.String()
	default:
		s = fmt.Sprint(v)
	}
	out := []byte(s)
	for i, c := range out {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '-':
			out[i] = 'm'
		default:
			out[i] = '_'
		}
	}
	return string(out)
}

// checkBody makes in.fn.
func (c *checker) checkBody(in *instance, b *bindings) {
	d := in.decl
	f := &fn{checker: c, list: c.list, unit: d.unit, in: in, env: newEnv(d.env), values: map[string]*ir.Value{},
		rebound: map[string]rebinding{}}
	if b != nil {
		f.dtypes = b.dtypes
		for _, p := range d.params {
			if v, ok := b.consts[p.name]; ok {
				f.env.set(p.name, v, p.node.Name.At)
			}
		}
	}
	in.fn = ir.NewFunc(c.uniqueFunc(in.key), d.kind, d.node.Name.At)
	c.instance[in.fn] = in.decl
	if doc := d.node.Body.Doc(); doc != nil {
		in.fn.Doc = doc.Value
	}
	f.f = in.fn
	f.b = ir.NewBuilder(in.fn, in.fn.Body)
	if in.bad = !f.signature(d, b); in.bad {
		return
	}
	c.busy = append(c.busy, d)
	defer func() { c.busy = c.busy[:len(c.busy)-1] }()
	if d.flow == nil {
		d.body = desugar(d.node.Body.Stmts, d.kind == ir.Inline || d.kind == ir.Golden, c.list)
		d.flow = liveness(d.body)
	}
	f.flow = d.flow
	before := c.list.Errors()
	f.block(d.body)
	f.noYield()
	f.setArena()
	if c.list.Errors() == before { // else the write may be what failed
		f.outputs()
	}
	if f.gaveUp && !c.list.HasErrors() {
		c.list.Errorf(diag.Internal, d.node.Name.At, "the checker gave up on %s without saying why", d.name)
	}
}

func (c *checker) uniqueFunc(name string) string {
	for i := 0; ; i++ {
		s := name
		if i > 0 {
			s = fmt.Sprintf("%s_%d", name, i)
		}
		if !c.owned[s] && c.mod.Func(s) == nil {
			c.owned[s] = true
			return s
		}
	}
}

// signature adds the parameters.
func (f *fn) signature(d *decl, b *bindings) bool {
	ok := true
	for _, p := range d.params {
		if b != nil && p.annot.konst != "" {
			continue
		}
		a := p.annot
		if d.kind != ir.Golden || a.typ == nil {
			a = f.paramAnnot(d, p)
		}
		if a.typ == nil {
			ok = false
			continue
		}
		if !f.paramKind(d, p, a) {
			ok = false
			continue
		}
		v := f.f.AddParam(p.name, a.typ, a.dir)
		f.env.set(p.name, v, p.node.Name.At)
		f.values[p.name] = v
	}
	if d.kind == ir.Golden {
		if target, isDecl := f.quietly(func() value { return f.goldenOf(d) }).(*decl); isDecl {
			f.f.GoldenOf = target.name
		}
	}
	return ok
}

// paramKind: tiles and arrays live on a core and cannot be handed to a function that is called.
func (f *fn) paramKind(d *decl, p *param, a annot) bool {
	if d.kind == ir.Inline {
		return true
	}
	switch a.typ.(type) {
	case *ir.Tile, *ir.Array, *ir.CommCtx:
		f.errorf(diag.BadAnnotation, p.node.Annot.Span(), "parameter %s of %s cannot be %s", p.name, aFunction(d.kind), typeText(a.typ)).
			Help("only @pl.jit.inline functions take values that live on a core; pass a pl.Tensor and load it")
		return false
	}
	return true
}

// goldenOf is the function that of= names: by its name, in a class too, or as Class.method.
func (f *fn) goldenOf(d *decl) value {
	if n, ok := syntax.Unparen(d.of).(*syntax.Name); ok && d.class != nil {
		if m := d.class.methods[n.Text]; m != nil {
			return m
		}
	}
	return (&fn{checker: f.checker, list: f.list, unit: f.unit, env: d.env}).expr(d.of)
}

// goldenTarget gives the parameters of a golden function the types of those that they specify.
func (c *checker) goldenTarget(d *decl) {
	f := c.constFn(d.unit)
	v := f.goldenOf(d)
	target, ok := v.(*decl)
	if !ok || target.kind == ir.Golden || target.kind == ir.Inline {
		if !isBad(v) {
			f.errorf(diag.BadDecorator, d.of.Span(), "of= must be a host, chip or incore function, got %s", describe(v))
		}
		d.broken = true
		return
	}
	c.isGeneric(target)
	for _, p := range d.params {
		if p.node.Annot != nil {
			p.annot = f.paramAnnot(d, p)
			continue
		}
		found := false
		var names []string
		for _, q := range target.params {
			names = append(names, q.name)
			if q.name == p.name {
				p.annot, found = q.annot, true
				if q.annot.typ == nil { // compile-time, or reported at its own place
					p.annot = annot{typ: &ir.Scalar{DType: ir.INDEX}}
					d.broken = d.broken || q.annot.konst == "" && c.list.HasErrors()
				}
			}
		}
		if !found {
			e := f.errorf(diag.UndefinedName, p.node.Name.At, "%s has no parameter %s", target.name, p.name).
				Note(target.node.Name.At, "%s is defined here", target.name)
			if near := diag.Nearest(p.name, names); near != "" {
				e.Help("did you mean %s?", near)
			}
			p.annot = annot{typ: &ir.Scalar{DType: ir.INDEX}}
			d.broken = true
		}
	}
}

// outputs complains about outputs that nothing writes.
func (f *fn) outputs() {
	for i, p := range f.f.Params() {
		if f.f.Dirs[i] != ir.Out || f.in.wrote[p] {
			continue
		}
		if r, ok := f.rebound[p.Name]; ok {
			f.errorf(diag.OutputNotWritten, r.at, "this makes %s a name for %s; the output is never written", p.Name, r.what).
				Help("to write it: %s[:] = ..., or pl.store(..., [0, ...], %s)", p.Name, p.Name)
		} else if f.f.Kind != ir.Inline {
			f.list.Warnf(diag.OutputNotWritten, f.in.decl.param(p.Name), "output %s is never written", p.Name)
		}
	}
}

func (d *decl) param(name string) source.Span {
	for _, p := range d.params {
		if p.name == name {
			return p.node.Name.At
		}
	}
	return d.node.Name.At
}

// writes notes that memory is written; writing an input is an error, except for windows (peers write
// them anyway) and in Python files, where the direction follows from the body as upstream.
func (f *fn) writes(mem *ir.Value, at source.Span) {
	r := root(mem)
	if r.Owner != f.f.Body || f.in.wrote[r] {
		return
	}
	f.in.wrote[r] = true
	i := paramIndex(f.f, r)
	if i < 0 || f.f.Dirs[i] != ir.In {
		return
	}
	f.f.Dirs[i] = ir.InOut
	if r.Type.(*ir.Tensor).Window || f.unit.lenient {
		return
	}
	for _, p := range f.in.decl.params {
		if p.name == r.Name {
			d := f.errorf(diag.InputWritten, at, "%s is an input, and this writes it", r.Name).
				Note(p.node.Name.At, "declared here").
				Help("annotate it pl.Out[...] (written) or pl.InOut[...] (read and written)")
			if p.node.Annot != nil {
				d.Fix(p.node.Annot.Span(), "pl.InOut["+p.node.Annot.Span().Text()+"]", "make it pl.InOut")
			}
		}
	}
}

func paramIndex(f *ir.Func, v *ir.Value) int {
	for i, p := range f.Params() {
		if p == v {
			return i
		}
	}
	return -1
}
