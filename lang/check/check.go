// Package check turns syntax trees into checked IR: it resolves names, evaluates constants, deduces
// types, and rewrites what the surface language has beyond the IR (rebinding of names in loops, break,
// early return, subscripts, generic functions) into what the IR has.
//
// Reading order: check.go (a file), decl.go (its functions), body.go (one function), stmt.go and its
// neighbours loop.go and branch.go (statements), expr.go and its neighbours (expressions).
package check

import (
	"context"
	"fmt"
	"path"
	"runtime/debug"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// Options say how a file is read.
type Options struct {
	Defines map[string]string // -D NAME=VALUE: overrides module constants, binds dynamic dims
	Entry   string            // a factory function or program class to take kernels from; "": everything
	Set     map[string]string // arguments of the factory

	Context context.Context // if given, checking ends with diag.Interrupted when it is done
}

// File checks a file and returns its module. With errors in list the module is what could be made of
// the rest; it is not for compiling.
func File(f *syntax.File, opts Options, list *diag.List) *ir.Module {
	c := newChecker(list)
	c.opts = opts
	c.lenient = syntax.ModeFor(f.Source.Name) == syntax.Lenient
	c.mod.Name = strings.TrimSuffix(path.Base(f.Source.Name), path.Ext(f.Source.Name))
	defer c.interruptedAt(f.Source.Span(0, 0))
	c.guard(f.Source.Span(0, 0), func() {
		u := c.newUnit()
		c.statements(u, f.Stmts)
		c.entry(u, f)
		c.unusedDefines(u)
		c.checkAll(u)
	})
	return c.mod
}

// interrupted unwinds a check whose context is done.
type interrupted struct{}

// poll is called before each function: one function is checked in no time.
func (c *checker) poll() {
	if ctx := c.opts.Context; ctx != nil && ctx.Err() != nil {
		panic(interrupted{})
	}
}

func (c *checker) interruptedAt(at source.Span) {
	switch r := recover().(type) {
	case nil:
	case interrupted:
		c.list.Errorf(diag.Interrupted, at, "interrupted")
	default:
		panic(r)
	}
}

type checker struct {
	list     *diag.List
	opts     Options
	lenient  bool
	mod      *ir.Module
	owned    map[string]bool        // names of functions in mod
	allocs   map[string]source.Span // window allocations by name: unique in a program
	used     map[string]bool        // defines that met their constant
	busy     []*decl                // functions being checked, callers first
	instance map[*ir.Func]*decl     // whose body each function is
	inLib    bool
}

func newChecker(list *diag.List) *checker {
	return &checker{list: list, mod: &ir.Module{}, owned: map[string]bool{}, allocs: map[string]source.Span{},
		used: map[string]bool{}, instance: map[*ir.Func]*decl{}}
}

// guard turns a panic of ours into a diagnostic.
func (c *checker) guard(at source.Span, fn func()) {
	defer func() {
		r := recover()
		if _, ours := r.(interrupted); ours {
			panic(r)
		}
		if r != nil {
			c.list.Errorf(diag.Internal, at, "the checker failed: %v", r).
				Help("please report it together with the program").
				Note(source.Span{}, "%s", firstFrames(string(debug.Stack())))
		}
	}()
	fn()
}

// firstFrames are the functions of this package at the top of a stack trace.
func firstFrames(stack string) string {
	var out []string
	for _, line := range strings.Split(stack, "\n") {
		if i := strings.Index(line, "/lang/check/"); i >= 0 && !strings.Contains(line, "check.go") && len(out) < 4 {
			file, _, _ := strings.Cut(line[i+1:], " ")
			out = append(out, file)
		}
	}
	return "at " + strings.Join(out, ", ")
}

// A unit is a scope with functions: a file, what a factory defines, a library.
type unit struct {
	globals *env
	decls   []*decl
	around  []*decl         // functions of the module around a factory: they are taken where they are called
	names   map[string]bool // of all functions in the IR
	classes []*classDecl
	factory []*syntax.FuncDef // undecorated functions, which --entry may name
	module  *env              // inside a factory: the scope of the module around it
	depth   int               // of factories that call each other
	lenient bool
}

func (c *checker) newUnit() *unit {
	g := newEnv(nil)
	g.set("pl", dotted("pl"), source.Span{})
	g.set("pld", dotted("pld"), source.Span{})
	return &unit{globals: g, names: map[string]bool{}, lenient: c.lenient}
}

// statements reads the statements of a module or factory: constants are evaluated, functions noted.
func (c *checker) statements(u *unit, stmts []syntax.Stmt) *syntax.Return {
	for i, s := range stmts {
		switch s := s.(type) {
		case *syntax.Import:
			for _, a := range s.Names {
				c.importName(u, a.Path, a.As, s.At)
			}
		case *syntax.FromImport:
			for _, a := range s.Names {
				as := a.As
				if as == "" {
					as = a.Path
				}
				c.importName(u, s.Module+"."+a.Path, as, s.At)
			}
		case *syntax.FuncDef:
			c.funcDef(u, s, nil)
		case *syntax.ClassDef:
			c.classDef(u, s)
		case *syntax.Assign, *syntax.AnnAssign, *syntax.AugAssign:
			c.moduleConst(u, s)
		case *syntax.If:
			if r := c.moduleIf(u, s); r != nil {
				return r
			}
		case *syntax.ExprStmt:
			c.moduleExpr(u, s, i == 0)
		case *syntax.Return:
			return s
		case *syntax.Pass, *syntax.BadStmt:
		default:
			if !u.lenient {
				c.list.Errorf(diag.NotInLanguage, s.Span(), "%s cannot stand outside a function", stmtName(s)).
					Help("a module holds imports, constants and functions")
			}
		}
	}
	return nil
}

// importName binds a module: pl and pld under whatever name, anything else as foreign.
func (c *checker) importName(u *unit, module, as string, at source.Span) {
	if as == "" {
		as, _, _ = strings.Cut(module, ".")
	}
	last := module[strings.LastIndexByte(module, '.')+1:]
	switch {
	case last == "distributed" || last == "pld":
		u.globals.set(as, dotted("pld"), at)
	case last == "language" || last == "pl":
		u.globals.set(as, dotted("pl"), at)
	case strings.Contains(module, "language.") && (known("pl."+last) || known("pld."+last)):
		if v := resolve("pl." + last); v != nil {
			u.globals.set(as, v, at)
		} else {
			u.globals.set(as, resolve("pld."+last), at)
		}
	case !u.lenient && strings.HasPrefix(module, "ptoc."):
		c.noModule(module, at)
		u.globals.set(as, bad{}, at)
		if as == "pl" || as == "pld" {
			u.globals.set(as, dotted(as), at) // what is meant, so that the rest of the file says what it means
		}
	default:
		u.globals.set(as, foreign(as), at)
	}
}

// noModule reports an import of ours that does not exist.
func (c *checker) noModule(module string, at source.Span) {
	d := c.list.Errorf(diag.UnknownName, at, "there is no %s", module)
	if near := diag.Nearest(module, []string{"ptoc.language", "ptoc.distributed"}); near != "" {
		d.Help("did you mean %s?", near)
	} else {
		d.Help("kernels import ptoc.language and ptoc.distributed")
	}
}

func known(p string) bool { return resolve(p) != nil }

// moduleConst evaluates a module constant. In Python files what we cannot evaluate is Python's.
func (c *checker) moduleConst(u *unit, s syntax.Stmt) {
	if c.madeConst(u, s) {
		return
	}
	f := c.constFn(u)
	if u.lenient {
		f.list = &diag.List{}
	}
	f.stmt(s)
	for _, n := range assignedNames(s) {
		// A bad value without an error here comes from a name whose error was reported.
		if b, ok := u.globals.lookup(n); u.lenient && (!ok || isBad(b.val) && f.list.Len() > 0) {
			u.globals.set(n, foreign(n), s.Span())
		}
	}
	for _, n := range assignedNames(s) {
		c.define(u, n, s.Span())
	}
}

// define applies -D to the name that was just bound.
func (c *checker) define(u *unit, name string, at source.Span) {
	text, ok := c.opts.Defines[name]
	if !ok || c.inLib {
		return
	}
	c.used[name] = true
	old, _ := u.globals.lookup(name)
	v, err := c.parseConst(u, text)
	if err != nil {
		c.list.Errorf(diag.BadDefine, at, "-D %s=%s: %v", name, text, err)
		return
	}
	if !sameFamily(old.val, v) {
		c.list.Errorf(diag.BadDefine, at, "-D %s=%s replaces %s by %s", name, text, describe(old.val), describe(v)).
			Help("give a value of the same kind")
		return
	}
	u.globals.set(name, v, at)
}

// sameFamily: numbers replace numbers and symbols, everything else its own kind.
func sameFamily(old, v value) bool {
	num := func(v value) bool {
		_, f := asFloat(v)
		_, d := asDim(v)
		return f || d
	}
	if num(old) || num(v) {
		_, oldFloat := old.(float64)
		_, newFloat := v.(float64)
		return num(old) && num(v) && (oldFloat || !newFloat)
	}
	switch old.(type) {
	case foreign, bad:
		return true
	}
	return fmt.Sprintf("%T", old) == fmt.Sprintf("%T", v)
}

// parseConst evaluates text that came from the command line. Text that is no expression is a string.
func (c *checker) parseConst(u *unit, text string) (value, error) {
	var errs diag.List
	sf := syntax.Parse(source.NewFile("<command line>", "x = "+text+"\n"), syntax.Strict, &errs)
	if len(sf.Stmts) == 1 && !errs.HasErrors() {
		if a, ok := sf.Stmts[0].(*syntax.Assign); ok {
			f := c.constFn(u)
			f.list = &errs
			if v := f.expr(a.Value); !isBad(v) {
				return v, nil
			}
			if n, ok := a.Value.(*syntax.Name); ok {
				if dt, ok := ir.ParseDType(n.Text); ok {
					return dt, nil
				}
				return n.Text, nil
			}
		}
	}
	for _, d := range errs.Sorted() {
		return nil, fmt.Errorf("%s", d.Message)
	}
	return nil, fmt.Errorf("not a constant")
}

func (c *checker) unusedDefines(u *unit) {
	for _, name := range sortedKeys(c.opts.Defines) {
		if c.used[name] {
			continue
		}
		d := c.list.Errorf(diag.UnknownDefine, source.Span{}, "-D %s: the program has no constant of that name", name)
		if near := diag.Nearest(name, u.globals.constants()); near != "" {
			d.Help("did you mean %s?", near)
		}
	}
}

func (c *checker) moduleIf(u *unit, s *syntax.If) *syntax.Return {
	f := c.constFn(u)
	if u.lenient {
		f.list = &diag.List{}
	}
	arms := []struct {
		cond syntax.Expr
		body syntax.Block
	}{{s.Cond, s.Body}}
	for _, e := range s.Elifs {
		arms = append(arms, struct {
			cond syntax.Expr
			body syntax.Block
		}{e.Cond, e.Body})
	}
	for _, a := range arms {
		v := f.expr(a.cond)
		b, ok := asBool(v)
		if !ok {
			if !u.lenient && !isBad(v) {
				c.list.Errorf(diag.NotConstant, a.cond.Span(), "an if outside a function needs a constant condition, got %s", describe(v))
			}
			return nil
		}
		if b {
			return c.statements(u, a.body.Stmts)
		}
	}
	if s.Else != nil {
		return c.statements(u, s.Else.Stmts)
	}
	return nil
}

// moduleExpr: docstrings and static checks.
func (c *checker) moduleExpr(u *unit, s *syntax.ExprStmt, first bool) {
	if _, doc := s.X.(*syntax.Str); doc && first || u.lenient {
		return
	}
	switch s.X.(type) {
	case *syntax.Str, *syntax.Ellipsis:
		return
	}
	f := c.constFn(u)
	f.exprStmt(s)
}

func stmtName(s syntax.Stmt) string {
	switch s.(type) {
	case *syntax.For:
		return "for"
	case *syntax.While:
		return "while"
	case *syntax.With:
		return "with"
	case *syntax.Assert:
		return "assert"
	case *syntax.Global:
		return "global"
	case *syntax.Import, *syntax.FromImport:
		return "import"
	case *syntax.FuncDef:
		return "def"
	case *syntax.ClassDef:
		return "class"
	}
	return "this statement"
}
