package check

import (
	"fmt"
	"slices"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// A decl is a function of the program. Its body is checked when it is first needed; a generic one is
// checked once per binding of its compile-time parameters.
type decl struct {
	name   string // in the IR
	node   *syntax.FuncDef
	unit   *unit
	env    *env // where its free names are looked up
	kind   ir.FuncKind
	of     syntax.Expr // @pl.golden(of=...)
	class  *classDecl
	params []*param
	body   []syntax.Stmt // desugared
	flow   *flow

	generic   bool
	broken    bool // reported; not to be checked
	instances []*instance
}

// An instance is a checked function.
type instance struct {
	decl   *decl
	key    string
	fn     *ir.Func
	done   bool
	bad    bool // its signature could not be read
	failed bool // its body has errors
	wrote  map[*ir.Value]bool
	needs  []need // ops of an inline function that are not legal everywhere
}

// A need is an op that decides which functions may call an inline function.
type need struct {
	where ir.Where
	name  string
	at    source.Span
}

// A param is a parameter as it is written.
type param struct {
	node  *syntax.Param
	name  string
	annot annot // valid after signature()
}

// A classDecl is a @pl.program class.
type classDecl struct {
	name    string
	node    *syntax.ClassDef
	env     *env
	methods map[string]*decl
}

// funcDef notes a function. Undecorated ones are factories in Python files, errors elsewhere.
func (c *checker) funcDef(u *unit, n *syntax.FuncDef, class *classDecl) {
	kind, of, ok := c.functionKind(u, n)
	if !ok {
		switch {
		case !c.hasKernelDecorator(u, n):
			c.undecorated(u, n, class)
		case class != nil: // what is wrong with it has been said: its calls need not say so again
			class.env.set(n.Name.Text, bad{}, n.Name.At)
		default:
			u.globals.set(n.Name.Text, bad{}, n.Name.At)
		}
		return
	}
	d := &decl{name: n.Name.Text, node: n, unit: u, kind: kind, of: of, class: class, env: u.globals}
	params := n.Params
	if class != nil {
		d.env = class.env
	}
	// A method may be written outside of its class: kern = make_kernel(...) in the class puts it there.
	if len(params) > 0 && params[0].Name.Text == "self" && (class != nil || c.isMethod(u, n)) {
		params = params[1:]
	}
	for _, p := range params {
		d.params = append(d.params, &param{node: p, name: p.Name.Text})
	}
	c.declare(u, d)
}

// isMethod reports whether n has the decorator of the class form.
func (c *checker) isMethod(u *unit, n *syntax.FuncDef) bool {
	return slices.ContainsFunc(n.Decorators, func(d *syntax.Decorator) bool {
		name, _, _ := c.decorator(u, d)
		return name == "pl.function"
	})
}

// declare makes the function's name known, unique in its scope.
func (c *checker) declare(u *unit, d *decl) {
	scope, taken := u.globals, map[string]*decl(nil)
	if d.class != nil {
		taken = d.class.methods
	}
	at := d.node.Name.At
	if old, ok := taken[d.name]; ok {
		c.list.Errorf(diag.Redefined, at, "%s is defined twice", d.name).Note(old.node.Name.At, "first defined here")
		return
	}
	if d.class != nil {
		d.class.methods[d.name] = d
		if u.names[d.name] {
			d.name = d.class.name + "_" + d.name
		}
	} else {
		if b, ok := scope.local(d.name); ok {
			if old, isFn := b.val.(*decl); isFn {
				c.list.Errorf(diag.Redefined, at, "%s is defined twice", d.name).Note(old.node.Name.At, "first defined here")
				return
			}
		}
		scope.set(d.name, d, at)
		for name, i := d.name, 2; u.names[d.name]; i++ { // of another scope: a factory's, or the module around it
			d.name = fmt.Sprintf("%s_%d", name, i)
		}
	}
	u.names[d.name] = true
	u.decls = append(u.decls, d)
}

func (c *checker) undecorated(u *unit, n *syntax.FuncDef, class *classDecl) {
	u.factory = append(u.factory, n)
	if class == nil {
		u.globals.set(n.Name.Text, foreign(n.Name.Text), n.Name.At)
	}
	if u.lenient {
		return
	}
	c.list.Errorf(diag.NoDecorator, n.Name.At, "%s has no decorator that says where it runs", n.Name.Text).
		Help("write @pl.jit.incore (a kernel), @pl.jit (one rank), @pl.jit.host (the controller), @pl.jit.inline or @pl.golden(of=...) above it")
}

// hasKernelDecorator tells a broken kernel decorator from none.
func (c *checker) hasKernelDecorator(u *unit, n *syntax.FuncDef) bool {
	for _, d := range n.Decorators {
		if _, _, ok := c.decorator(u, d); ok {
			return true
		}
	}
	return false
}

// decorator splits @pl.jit.incore(...) into its canonical name and call.
func (c *checker) decorator(u *unit, d *syntax.Decorator) (name string, call *syntax.Call, ok bool) {
	x := syntax.Unparen(d.X)
	if k, isCall := x.(*syntax.Call); isCall {
		call, x = k, syntax.Unparen(k.Fn)
	}
	f := c.constFn(u)
	f.list = &diag.List{}
	p, isPath := f.pathOf(x)
	return p, call, isPath
}

// functionKind reads the decorators. ok is false if there is none of ours, or a wrong one.
func (c *checker) functionKind(u *unit, n *syntax.FuncDef) (kind ir.FuncKind, of syntax.Expr, ok bool) {
	for _, d := range n.Decorators {
		name, call, isPath := c.decorator(u, d)
		if !isPath {
			continue
		}
		switch name {
		case "pl.jit", "pl.jit.opaque":
			return ir.Chip, nil, true
		case "pl.jit.host":
			return ir.Host, nil, true
		case "pl.jit.incore":
			return ir.InCore, nil, true
		case "pl.jit.inline", "pl.inline":
			return ir.Inline, nil, true
		case "pl.golden":
			if of = keyword(call, "of"); of == nil {
				c.list.Errorf(diag.BadDecorator, d.Span(), "pl.golden needs of=: the function that it specifies").
					Help("write @pl.golden(of=main)")
				return 0, nil, false
			}
			return ir.Golden, of, true
		case "pl.function":
			kind, ok = c.classKind(d, call)
			return kind, nil, ok
		default:
			e := c.list.Errorf(diag.BadDecorator, d.Span(), "%s is not a decorator for functions", name)
			if near := diag.Nearest(name, decorators); near != "" {
				e.Help("did you mean @%s?", near).Fix(decoratorName(d), near, "write %s", near)
			} else {
				e.Help("functions are @pl.jit, @pl.jit.host, @pl.jit.incore, @pl.jit.inline or @pl.golden(of=...)")
			}
			return 0, nil, false
		}
	}
	return 0, nil, false
}

func decoratorName(d *syntax.Decorator) source.Span {
	if call, ok := d.X.(*syntax.Call); ok {
		return call.Fn.Span()
	}
	return d.X.Span()
}

var decorators = []string{"pl.jit", "pl.jit.host", "pl.jit.incore", "pl.jit.inline", "pl.jit.opaque", "pl.golden", "pl.function", "pl.program", "pl.inline"}

// keyword is the value of a keyword argument; nil if it is not there.
func keyword(call *syntax.Call, name string) syntax.Expr {
	if call == nil {
		return nil
	}
	for _, k := range call.Keywords {
		if k.Name.Text == name {
			return k.Value
		}
	}
	return nil
}

// functionTypes and levels map upstream's axes to ours.
var functionTypes = map[string]ir.FuncKind{
	"Opaque": ir.Chip, "Orchestration": ir.Chip, "InCore": ir.InCore, "AIC": ir.InCore, "AIV": ir.InCore,
	"Inline": ir.Inline, "Group": ir.InCore, "Spmd": ir.InCore,
}

var levels = map[string]ir.FuncKind{
	"HOST": ir.Host, "POD": ir.Host, "CHIP": ir.Chip, "CORE_GROUP": ir.InCore, "CORE": ir.InCore, "DIE": ir.Chip,
}

// classKind reads @pl.function(type=, level=, role=).
func (c *checker) classKind(d *syntax.Decorator, call *syntax.Call) (ir.FuncKind, bool) {
	kind := ir.Chip
	if call == nil {
		return kind, true
	}
	last := func(x syntax.Expr) string {
		if a, ok := syntax.Unparen(x).(*syntax.Attr); ok {
			return a.Sel.Text
		}
		return x.Span().Text()
	}
	if len(call.Args) > 0 {
		c.list.Errorf(diag.BadDecorator, call.Args[0].Span(), "pl.function takes keyword arguments only").
			Help("write type=, level= or role=")
		return 0, false
	}
	typed := false
	for _, k := range call.Keywords {
		var ok = true
		switch k.Name.Text {
		case "type":
			kind, ok = functionTypes[last(k.Value)]
			typed = last(k.Value) != "Opaque"
		case "level":
			lk, lok := levels[last(k.Value)]
			ok = lok
			if lok && (!typed || lk == ir.Host && kind != ir.Inline) {
				kind = lk
			}
		case "role":
			if last(k.Value) == "SubWorker" {
				c.list.Errorf(diag.NotHere, k.Value.Span(), "SubWorker callbacks are not here: there is no Python process that could run them").
					Help("compute on the host side of the API, or in a kernel")
				return 0, false
			}
		case "attrs", "strict_ssa", "auto_scope":
		case "external_source":
			c.list.Errorf(diag.NotHere, k.At, "external C++ kernels are not here: every kernel is written in the language")
			return 0, false
		default:
			c.list.Errorf(diag.UnknownKeyword, k.Name.At, "pl.function has no parameter %s", k.Name.Text).
				Help("it takes type=, level= and role=")
			return 0, false
		}
		if !ok {
			d := c.list.Errorf(diag.BadDecorator, k.Value.Span(), "%s is not a %s that exists here", k.Value.Span().Text(), k.Name.Text)
			there := sortedKeys(functionTypes)
			if k.Name.Text == "level" {
				there = sortedKeys(levels)
			}
			if near := diag.Nearest(last(k.Value), there); near != "" {
				d.Help("did you mean %s?", near)
			} else {
				d.Help("there are %s", strings.Join(there, ", "))
			}
			return 0, false
		}
	}
	return kind, true
}

// classDef reads a @pl.program class.
func (c *checker) classDef(u *unit, n *syntax.ClassDef) {
	program := false
	for _, d := range n.Decorators {
		if name, _, ok := c.decorator(u, d); ok && name == "pl.program" {
			program = true
		}
	}
	if !program {
		u.globals.set(n.Name.Text, foreign(n.Name.Text), n.Name.At)
		if !u.lenient {
			c.list.Errorf(diag.NoDecorator, n.Name.At, "class %s is not a program", n.Name.Text).
				Help("write @pl.program above it, or put its functions into the module")
		}
		return
	}
	class := &classDecl{name: n.Name.Text, node: n, env: newEnv(u.globals), methods: map[string]*decl{}}
	class.env.set("self", self{class}, n.Name.At)
	u.globals.set(n.Name.Text, class, n.Name.At)
	u.classes = append(u.classes, class)
	for _, s := range n.Body.Stmts {
		switch s := s.(type) {
		case *syntax.FuncDef:
			c.funcDef(u, s, class)
		case *syntax.Assign, *syntax.AnnAssign:
			f := c.constFn(u)
			f.env = class.env
			f.stmt(s)
		case *syntax.ExprStmt, *syntax.Pass, *syntax.BadStmt:
		default:
			c.list.Errorf(diag.NotInLanguage, s.Span(), "%s cannot stand in a program class", stmtName(s)).
				Help("a program class holds constants and functions")
		}
	}
}

// checkAll checks every function of the unit and puts them into the module in source order, the
// instances of a generic function in its place; of the module around a factory, those that are called.
func (c *checker) checkAll(u *unit) {
	for _, d := range u.decls {
		if d.kind == ir.Golden {
			c.goldenTarget(d)
		}
		if d.broken || c.isGeneric(d) {
			continue
		}
		c.instantiate(d, nil, source.Span{})
	}
	for _, d := range slices.Concat(u.around, u.decls) {
		for _, in := range d.instances {
			if !in.bad {
				c.mod.Funcs = append(c.mod.Funcs, in.fn)
			}
		}
	}
}
