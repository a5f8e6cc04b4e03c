package check

import (
	"slices"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// entry takes kernels from the factory function or program class that --entry names.
func (c *checker) entry(u *unit, f *syntax.File) {
	if c.opts.Entry == "" {
		c.unknownSets(nil, nil)
		if len(u.decls) == 0 && !c.list.HasErrors() {
			c.noKernels(u, f)
		}
		return
	}
	for _, n := range u.factory {
		if n.Name.Text == c.opts.Entry {
			c.runFactory(u, n)
			return
		}
	}
	for _, cl := range u.classes {
		if cl.name == c.opts.Entry {
			c.unknownSets(nil, nil)
			c.onlyClass(u, cl)
			return
		}
	}
	for _, d := range u.decls {
		if d.node.Name.Text == c.opts.Entry {
			c.unknownSets(nil, nil)
			return // a kernel: where to start is the runner's choice
		}
	}
	var names []string
	for _, n := range u.factory {
		names = append(names, n.Name.Text)
	}
	for _, cl := range u.classes {
		names = append(names, cl.name)
	}
	for _, d := range u.decls {
		names = append(names, d.node.Name.Text)
	}
	d := c.list.Errorf(diag.UnknownEntry, source.Span{}, "the program has no function or class %s to enter", c.opts.Entry)
	if near := diag.Nearest(c.opts.Entry, names); near != "" {
		d.Help("did you mean %s?", near)
	} else if len(names) > 0 {
		d.Help("it has %s", diag.Listed(names))
	}
	if u.lenient {
		d.Help("of Python files, what has a kernel decorator is read, and functions that define such")
	}
}

// noKernels: a file without kernels is a mistake; in Python files they may be inside factories.
func (c *checker) noKernels(u *unit, f *syntax.File) {
	d := c.list.Errorf(diag.NoKernels, f.Source.Span(0, 0), "%s defines no kernels", f.Source.Name)
	if len(u.factory) == 0 {
		d.Help("kernels are functions with a decorator such as @pl.jit.incore")
		return
	}
	n := u.factory[0]
	set := ""
	for _, p := range n.Params {
		if p.Default == nil && p.Star.Text == "" {
			set += " --set " + p.Name.Text + "=..."
		}
	}
	d.Help("if a function makes them, name it: --entry %s%s", n.Name.Text, set)
}

// runFactory evaluates a factory's arguments and constant statements in a scope of its own; what it
// defines replaces what the module defines.
func (c *checker) runFactory(u *unit, n *syntax.FuncDef) {
	inner := newEnv(u.globals)
	u.around, u.decls, u.classes = u.decls, nil, nil
	used := map[string]bool{}
	for _, p := range n.Params {
		if p.Star.Text != "" {
			continue
		}
		text, given := c.opts.Set[p.Name.Text]
		used[p.Name.Text] = given
		switch {
		case given:
			v, err := c.parseConst(u, text)
			if err != nil {
				c.list.Errorf(diag.BadDefine, p.Name.At, "--set %s=%s: %v", p.Name.Text, text, err)
				v = bad{}
			}
			inner.set(p.Name.Text, v, p.Name.At)
		case p.Default != nil:
			f := c.constFn(u)
			f.list = &diag.List{}
			v := f.expr(p.Default)
			if isBad(v) {
				v = foreign(p.Name.Text)
			}
			inner.set(p.Name.Text, v, p.Name.At)
		default:
			c.list.Errorf(diag.MissingArgument, p.Name.At, "%s needs a value for %s", n.Name.Text, p.Name.Text).
				Help("give it: --set %s=...", p.Name.Text)
			inner.set(p.Name.Text, bad{}, p.Name.At)
		}
	}
	c.unknownSets(n, used)
	u.module, u.globals = u.globals, inner
	u.lenient = true
	if cl, ok := c.returned(u, c.statements(u, n.Body.Stmts)).(*classDecl); ok && slices.Contains(u.classes, cl) {
		c.onlyClass(u, cl)
	}
	if len(u.decls) == 0 && !c.list.HasErrors() {
		c.list.Errorf(diag.NoKernels, n.Name.At, "%s defines no kernels", n.Name.Text)
	}
}

// maxFactoryDepth ends factories that call themselves.
const maxFactoryDepth = 16

// madeConst handles kern = make_kern(n=4) in a factory, where make_kern is one, too: kern is what that
// one defines and returns. It reports whether s is such a statement.
func (c *checker) madeConst(u *unit, s syntax.Stmt) bool {
	a, ok := s.(*syntax.Assign)
	if !ok || u.module == nil || len(a.Targets) != 1 {
		return false
	}
	target, isName := a.Targets[0].(*syntax.Name)
	call, isCall := a.Value.(*syntax.Call)
	if !isName || !isCall {
		return false
	}
	v := c.callFactory(u, call)
	if v == nil {
		return false
	}
	u.globals.set(target.Text, v, s.Span())
	return true
}

// callFactory is the function or class that a factory returns; nil where x calls none, or it returns something else.
func (c *checker) callFactory(u *unit, x *syntax.Call) value {
	fn, ok := x.Fn.(*syntax.Name)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(u.factory, func(n *syntax.FuncDef) bool { return n.Name.Text == fn.Text })
	if i < 0 || u.depth == maxFactoryDepth {
		return nil
	}
	caller, n := u.globals, u.factory[i]
	u.globals = c.factoryArgs(u, n, x)
	u.depth++
	v := c.returned(u, c.statements(u, n.Body.Stmts))
	u.depth--
	u.globals = caller
	return v
}

// returned is the function or class that a factory's return statement hands on; nil if neither.
func (c *checker) returned(u *unit, r *syntax.Return) value {
	if r == nil || r.Value == nil {
		return nil
	}
	x := syntax.Unparen(r.Value)
	if call, isCall := x.(*syntax.Call); isCall {
		if v := c.callFactory(u, call); v != nil {
			return v
		}
		if len(call.Args) == 0 { // return Program()
			x = call.Fn
		}
	}
	if name, isName := x.(*syntax.Name); isName {
		b, _ := u.globals.lookup(name.Text)
		switch b.val.(type) {
		case *decl, *classDecl:
			return b.val
		}
	}
	return nil
}

// factoryArgs binds the parameters of a factory that another one calls. What is not a constant is Python's.
func (c *checker) factoryArgs(u *unit, n *syntax.FuncDef, x *syntax.Call) *env {
	given := map[string]syntax.Expr{}
	for _, k := range x.Keywords {
		given[k.Name.Text] = k.Value
	}
	ours, theirs := c.constFn(u), c.constFn(u)
	theirs.env = u.module
	ours.list, theirs.list = &diag.List{}, &diag.List{}
	inner := newEnv(u.module)
	at := 0
	for _, p := range n.Params {
		switch p.Star.Text {
		case "":
		case "/":
			continue
		default:
			at = len(x.Args) // what follows is given by name
			continue
		}
		e, f := p.Default, theirs
		if at < len(x.Args) {
			e, f = x.Args[at], ours
			at++
		} else if k := given[p.Name.Text]; k != nil {
			e, f = k, ours
		}
		v := value(foreign(p.Name.Text))
		if e != nil {
			if w := f.expr(e); !isBad(w) {
				v = w
			}
		}
		inner.set(p.Name.Text, v, p.Name.At)
	}
	return inner
}

// unknownSets complains about values that nothing takes; n is nil where there is no factory to take any.
func (c *checker) unknownSets(n *syntax.FuncDef, used map[string]bool) {
	for _, name := range sortedKeys(c.opts.Set) {
		if used[name] {
			continue
		}
		if n == nil {
			c.list.Errorf(diag.UnknownDefine, source.Span{}, "--set %s: there is no factory whose argument it could be", name).
				Help("name the function that makes the kernels: --entry; a constant is replaced with -D")
			continue
		}
		var names []string
		for _, p := range n.Params {
			names = append(names, p.Name.Text)
		}
		d := c.list.Errorf(diag.UnknownDefine, n.Name.At, "--set %s: %s has no parameter of that name", name, n.Name.Text)
		if near := diag.Nearest(name, names); near != "" {
			d.Help("did you mean %s?", near)
		}
	}
}

// onlyClass leaves out the methods of the other classes.
func (c *checker) onlyClass(u *unit, cl *classDecl) {
	var kept []*decl
	for _, d := range u.decls {
		if d.class == nil || d.class == cl {
			kept = append(kept, d)
		}
	}
	u.decls = kept
}

// A Library is program text whose functions are instantiated one by one into other modules.
type Library struct {
	c    *checker
	unit *unit
	list *diag.List
}

// NewLibrary reads the definitions of several files into one scope. Bodies are checked when they are
// instantiated.
func NewLibrary(files []*syntax.File, list *diag.List) *Library {
	c := newChecker(list)
	c.inLib = true
	u := c.newUnit()
	for _, f := range files {
		c.statements(u, f.Stmts)
	}
	return &Library{c: c, unit: u, list: list}
}

// Names lists the library's functions.
func (l *Library) Names() []string {
	var out []string
	for _, d := range l.unit.decls {
		out = append(out, d.name)
	}
	return out
}

// Instantiate checks function name of the library for arguments of these types (in parameter order,
// compile-time parameters left out) and compile-time arguments (int64, float64, bool, string or
// ir.Enum, by parameter name), and adds it and what it calls to the module, unless they are there.
func (l *Library) Instantiate(name string, args []ir.Type, consts map[string]any, into *ir.Module) (*ir.Func, error) {
	var errs diag.List
	c := l.c
	c.list, c.mod = &errs, into
	c.adopt(l.unit, into)
	f := c.constFn(l.unit)
	b, ok := l.unit.globals.lookup(name)
	d, isDecl := b.val.(*decl)
	if !ok || !isDecl {
		return nil, diag.New(diag.UndefinedName, source.Span{}, "the library has no function %s", name)
	}
	c.isGeneric(d)
	var in *instance
	c.guard(d.node.Name.At, func() {
		var binds *bindings
		if d.generic {
			if binds, ok = f.bindTypes(d, args, consts); !ok {
				return
			}
		}
		in = c.instantiate(d, binds, d.node.Name.At)
	})
	if err := errs.Err(); err != nil {
		return nil, err
	}
	c.collect(l.unit, into)
	return in.fn, nil
}

// bindTypes is bindGeneric for types instead of arguments.
func (f *fn) bindTypes(d *decl, args []ir.Type, consts map[string]any) (*bindings, bool) {
	x := &syntax.Call{At: d.node.Name.At, Fn: &syntax.Name{At: d.node.Name.At, Text: d.name}}
	vals, spans := map[string]value{}, map[string]source.Span{}
	n := 0
	for _, p := range d.params {
		spans[p.name] = p.node.Name.At
		if p.annot.konst != "" {
			v, ok := consts[p.name]
			if !ok {
				f.errorf(diag.MissingArgument, p.node.Name.At, "%s needs the compile-time argument %s", d.name, p.name)
				return nil, false
			}
			if i, isInt := v.(int); isInt {
				v = int64(i)
			}
			vals[p.name] = v
			continue
		}
		if n >= len(args) {
			f.errorf(diag.MissingArgument, p.node.Name.At, "%s needs a type for %s", d.name, p.name)
			return nil, false
		}
		vals[p.name] = &ir.Value{Type: args[n]}
		n++
	}
	return f.bindGeneric(d, vals, spans, x)
}

// adopt forgets instances that belong to other modules.
func (c *checker) adopt(u *unit, into *ir.Module) {
	have := map[*ir.Func]bool{}
	for _, f := range into.Funcs {
		have[f] = true
	}
	c.owned = map[string]bool{}
	for _, d := range u.decls {
		var kept []*instance
		for _, in := range d.instances {
			if have[in.fn] {
				kept = append(kept, in)
			}
		}
		d.instances = kept
	}
}

// collect adds new instances to the module, callees first, and the symbols that they use.
func (c *checker) collect(u *unit, into *ir.Module) {
	have := map[*ir.Func]bool{}
	for _, f := range into.Funcs {
		have[f] = true
	}
	var add func(f *ir.Func)
	add = func(f *ir.Func) {
		if have[f] {
			return
		}
		have[f] = true
		f.Body.Walk(func(op *ir.Op) {
			if callee := op.Callee(); callee != nil {
				add(callee)
			}
		})
		into.Funcs = append(into.Funcs, f)
		for _, s := range f.DimSyms() {
			c.addSym(s)
		}
	}
	for _, d := range u.decls {
		for _, in := range d.instances {
			if !in.bad {
				add(in.fn)
			}
		}
	}
}
