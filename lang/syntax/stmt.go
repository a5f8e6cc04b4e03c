package syntax

import (
	"github.com/alecthomas/participle/v2"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// stmts parses one logical line, with the block below it. What cannot be read becomes a BadStmt: the next
// line is no worse for it.
func (p *parser) stmts() (out []Stmt) {
	start, saved := p.pos, p.context()
	p.line = start
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case bailout:
			p.restore(saved)
			p.skipStatement(start)
			out = append(out, &BadStmt{At: p.since(start)})
		default:
			panic(r)
		}
	}()
	switch k := p.kind(); {
	case k == kIndent:
		return p.unexpectedIndent()
	case k == kNewline || k == kDedent:
		p.next()
		return nil
	case isCompound(k) || p.startsMatch():
		return []Stmt{p.compound()}
	}
	return p.simpleLine()
}

// context is what a failed statement must leave as it was.
type context struct {
	depth, loops, funcs int
	quiet               bool
}

func (p *parser) context() context { return context{p.depth, p.loops, p.funcs, p.quiet} }

func (p *parser) restore(c context) {
	p.depth, p.loops, p.funcs, p.quiet = c.depth, c.loops, c.funcs, c.quiet
}

// skipStatement goes to the line after a statement that failed. A block below it is parsed for the errors
// in it; what it is the block of we do not know, so `break` and `return` are fine there.
func (p *parser) skipStatement(start int) {
	p.pos = max(p.pos, start)
	for {
		for !p.kind().isLayout() {
			p.pos++
		}
		p.got(kNewline)
		if p.kind() == kIndent {
			saved := p.context()
			p.loops, p.funcs = 1, 1
			p.indented()
			p.restore(saved)
		}
		switch p.kind() {
		case kElif, kElse, kExcept, kFinally:
		default:
			return
		}
	}
}

// indented parses from an indent to its dedent.
func (p *parser) indented() (out []Stmt) {
	p.next()
	for p.kind() != kDedent && p.kind() != kEOF {
		out = append(out, p.stmts()...)
	}
	p.got(kDedent)
	return out
}

const indentedForNothing = "this line is indented for no reason"

func (p *parser) unexpectedIndent() []Stmt {
	p.errorf(diag.UnexpectedIndent, p.span(p.pos+1), indentedForNothing)
	return p.indented()
}

// simpleLine parses simple statements up to the end of the line.
func (p *parser) simpleLine() []Stmt {
	out := []Stmt{p.simple()}
	for p.got(kSemi) && !p.kind().isLayout() {
		if isCompound(p.kind()) {
			p.failExpected("a simple statement after ';'")
		}
		out = append(out, p.simple())
	}
	if !p.got(kNewline) && p.kind() != kEOF {
		p.failTrailing(out[len(out)-1])
	}
	return out
}

// failTrailing reports something that does not belong to the statement before it.
func (p *parser) failTrailing(s Stmt) {
	if p.garbled() {
		panic(bailout{})
	}
	at, found := p.span(p.pos), p.found()
	d := p.errorf(diag.UnexpectedToken, at, "expected the end of the line, found %s", found)
	if x, ok := s.(*ExprStmt); ok {
		if n, ok := x.X.(*Name); ok {
			if near := diag.Nearest(n.Text, statementWords); near != "" {
				d.Fix(n.At, near, "did you mean %q?", near)
			}
		}
	}
	panic(bailout{})
}

var statementWords = []string{
	"if", "elif", "else", "for", "while", "with", "def", "class", "return", "import", "from", "global", "assert",
	"pass", "break", "continue",
}

func isCompound(k kind) bool {
	switch k {
	case kIf, kFor, kWhile, kWith, kDef, kClass, kAt, kTry, kAsync, kElif, kElse, kExcept, kFinally:
		return true
	}
	return false
}

func (p *parser) compound() Stmt {
	start := p.pos
	p.deeper(start)
	defer func() { p.depth-- }()
	switch p.kind() {
	case kIf:
		return statement(p, p.grammars.ifStmt, func(n *If) *source.Span { return &n.At })
	case kWith:
		return statement(p, p.grammars.with, func(n *With) *source.Span { return &n.At })
	case kWhile:
		return p.loop(func() Stmt {
			return statement(p, p.grammars.while, func(n *While) *source.Span { return &n.At })
		})
	case kFor:
		return p.loop(func() Stmt {
			return statement(p, p.grammars.forStmt, func(n *For) *source.Span { return &n.At })
		})
	case kDef, kClass, kAt:
		return p.definition()
	case kElif, kElse, kExcept, kFinally:
		p.errorf(diag.UnexpectedToken, p.span(p.pos), "'%s' continues no statement: it must stand right after the block it belongs to, equally indented",
			p.tokenText(p.pos))
		panic(bailout{})
	}
	return p.refusedBlock()
}

// statement parses by a production that describes a whole statement, and says where it stands.
func statement[N any, S interface {
	*N
	Stmt
}](p *parser, production *participle.Parser[N], at func(S) *source.Span) Stmt {
	start := p.pos
	n := S(run(p, production))
	*at(n) = p.since(start)
	return n
}

// loop parses a loop and refuses `else` after it.
func (p *parser) loop(parse func() Stmt) Stmt {
	p.loops++
	n := parse()
	p.loops--
	if p.kind() == kElse {
		p.refuse(p.span(p.next()), "else after a loop")
		p.block()
	}
	return n
}

// refusedBlock steps over try, async and match statements.
func (p *parser) refusedBlock() Stmt {
	start := p.pos
	what := p.tokenText(start)
	if what == "async" {
		what = "async " + p.tokenText(start+1)
	}
	p.refuse(p.span(start), what)
	for {
		p.pos = p.lineAndBlock(p.pos)
		if k := p.kind(); k != kExcept && k != kFinally && k != kElse {
			break
		}
	}
	return &BadStmt{At: p.since(start), What: what}
}

// startsMatch recognises `match x:`, whose first word is an ordinary name otherwise.
func (p *parser) startsMatch() bool {
	if p.kind() != kIdent || p.tokenText(p.pos) != "match" {
		return false
	}
	i := p.pos
	for !p.toks[i].kind.isLayout() {
		i++
	}
	return p.toks[i-1].kind == kColon && p.toks[i].kind == kNewline && p.toks[i+1].kind == kIndent &&
		p.toks[i+2].kind == kIdent && p.tokenText(i+2) == "case"
}

// definition parses a function or a class with its decorators.
func (p *parser) definition() Stmt {
	start, saved := p.pos, p.context()
	defer p.restore(saved)
	head, kernel := start, false
	for p.toks[head].kind == kAt {
		kernel = kernel || p.isKernelDecorator(head)
		head = p.lineAndBlock(head)
	}
	if p.host && kernel {
		p.quiet = false
		i := len(p.kernels)
		p.kernels = append(p.kernels, source.Span{})
		defer func() { p.kernels[i] = p.since(start) }()
	}
	p.loops = 0
	switch p.toks[head].kind {
	case kClass:
		p.funcs = 0
		n := run(p, p.grammars.classDef)
		n.At = p.since(start)
		return n
	case kAsync:
		p.pos = head
		return p.refusedBlock()
	}
	p.funcs++
	n := run(p, p.grammars.funcDef)
	n.At = p.since(start)
	p.checkParams(n.Params)
	return n
}

func (p *parser) checkParams(params []*Param) {
	defaults, keywordOnly := false, false
	for i, q := range params {
		switch star := q.Star.Text; {
		case star != "":
			p.checkStar(q, params[:i], params[i+1:])
			keywordOnly = keywordOnly || star != "/"
		case q.Default != nil:
			defaults = true
		case defaults && !keywordOnly:
			p.errorf(diag.ParameterOrder, q.Name.At, "the parameter %q needs a default, since one before it has one", q.Name.Text)
		}
		for _, r := range params[:i] {
			if q.Name.Text != "" && r.Name.Text == q.Name.Text {
				p.errorf(diag.RepeatedArgument, q.Name.At, "the parameter %q is given twice", q.Name.Text).
					Note(r.Name.At, "first given here")
				break
			}
		}
	}
}

// checkStar: `/` stands behind a parameter and before `*`, a bare `*` before a parameter; each is there once.
func (p *parser) checkStar(q *Param, before, after []*Param) {
	star := q.Star.Text
	switch {
	case star == "**", q.Name.Text != "" && star == "*":
		p.refuse(q.Star.At, "a parameter with '"+star+"'")
		return
	case star == "/" && q.Name.Text != "":
		p.errorf(diag.UnexpectedToken, q.Name.At, "expected ',' or ')' behind '/'")
		return
	case star == "/" && len(before) == 0:
		p.errorf(diag.ParameterOrder, q.Star.At, "'/' stands behind the parameters that are matched by position only, and there are none")
	case star == "*" && (len(after) == 0 || after[0].Star.Text != ""):
		p.errorf(diag.ParameterOrder, q.Star.At, "'*' stands before the parameters that are given by name only, and there are none")
	}
	for _, r := range before {
		if r.Star.Text == star || r.Star.Text != "" && star == "/" {
			p.errorf(diag.ParameterOrder, q.Star.At, "'%s' is too late here", star).Note(r.Star.At, "'%s' stands here", r.Star.Text)
			return
		}
	}
}

// block parses `:` and what it introduces.
func (p *parser) block() Block {
	start := p.pos
	if !p.got(kColon) {
		if !p.missingColon() {
			return Block{At: p.after()}
		}
	}
	if p.kind() != kNewline {
		if isCompound(p.kind()) {
			p.failExpected("a simple statement or the end of the line after ':'")
		}
		b := Block{Stmts: p.simpleLine()}
		b.At = p.since(start)
		return b
	}
	p.next()
	if p.kind() != kIndent {
		at := p.span(start)
		p.errorf(diag.MissingBlock, at, "this ':' needs an indented block below it").
			Help("write `pass` (or `...`) for an empty one")
		return Block{At: at}
	}
	b := Block{Stmts: p.indented()}
	b.At = p.since(start)
	return b
}

// missingColon reports what stands in the place of a colon. It returns whether a block follows.
func (p *parser) missingColon() bool {
	switch {
	case p.kind() == kNewline:
		at := p.after()
		p.errorf(diag.MissingColon, at, "this line needs a ':' at its end").Fix(at, ":", "add it")
		return p.peekKind(1) == kIndent
	case p.kind() == kAssign:
		at := p.span(p.pos)
		p.errorf(diag.AssignInExpression, at, "'=' assigns, and cannot stand in an expression").
			Fix(at, "==", "compare with '=='")
		panic(bailout{})
	}
	p.failExpected("':'")
	return false
}

// simple parses a statement of one line.
func (p *parser) simple() Stmt {
	start := p.pos
	switch p.kind() {
	case kPass:
		return &Pass{At: p.span(p.next())}
	case kBreak:
		p.inLoop()
		return &Break{At: p.span(p.next())}
	case kContinue:
		p.inLoop()
		return &Continue{At: p.span(p.next())}
	case kReturn:
		if p.funcs == 0 {
			p.errorf(diag.OutsideFunction, p.span(p.pos), "'return' outside a function")
		}
		return statement(p, p.grammars.returnStmt, func(n *Return) *source.Span { return &n.At })
	case kImport:
		return statement(p, p.grammars.importStmt, func(n *Import) *source.Span { return &n.At })
	case kFrom:
		return statement(p, p.grammars.fromImport, func(n *FromImport) *source.Span { return &n.At })
	case kGlobal:
		return statement(p, p.grammars.global, func(n *Global) *source.Span { return &n.At })
	case kAssert:
		return statement(p, p.grammars.assert, func(n *Assert) *source.Span { return &n.At })
	case kRaise, kDel, kNonlocal:
		return p.refusedLine()
	case kIdent:
		if p.tokenText(start) == "type" && p.peekKind(1) == kIdent {
			return p.refusedLine()
		}
	}
	return p.exprStmt()
}

func (p *parser) inLoop() {
	if p.loops == 0 {
		p.errorf(diag.OutsideLoop, p.span(p.pos), "'%s' outside a loop", p.tokenText(p.pos))
	}
}

// refusedLine steps over a statement of one line.
func (p *parser) refusedLine() Stmt {
	start := p.pos
	what := p.tokenText(start)
	p.refuse(p.span(start), what)
	for !p.kind().endsStmt() {
		p.pos++
	}
	return &BadStmt{At: p.since(start), What: what}
}

// exprStmt parses the statements that begin with an expression.
func (p *parser) exprStmt() Stmt {
	start := p.pos
	x := p.exprList()
	switch k := p.kind(); {
	case k == kAssign:
		n := &Assign{Targets: make([]Expr, 0, 1), Value: x}
		for p.got(kAssign) {
			p.checkTarget(n.Value)
			n.Targets = append(n.Targets, n.Value)
			n.Value = p.exprList()
		}
		n.At = p.since(start)
		return n
	case k.isAug():
		n := &AugAssign{Target: x, Op: binaryOp[k], OpAt: p.span(p.next())}
		p.checkSingleTarget(x, "an augmented assignment")
		n.Value = p.exprList()
		n.At = p.since(start)
		return n
	case k == kColon && isAnnotatable(x):
		p.next()
		n := &AnnAssign{Target: x, Annot: p.expr()}
		p.checkSingleTarget(x, "an annotated assignment")
		if p.got(kAssign) {
			n.Value = p.exprList()
		}
		n.At = p.since(start)
		return n
	}
	return &ExprStmt{At: p.since(start), X: x}
}

func isAnnotatable(x Expr) bool {
	switch Unparen(x).(type) {
	case *Name, *Attr, *Index, *Tuple:
		return true
	}
	return false
}

// checkTarget reports what cannot stand left of '='.
func (p *parser) checkTarget(x Expr) {
	switch x := x.(type) {
	case *Name, *Attr, *Index, *BadExpr:
	case *Paren:
		p.checkTarget(x.X)
	case *Tuple:
		p.checkTargets(x.Elts)
	case *List:
		p.checkTargets(x.Elts)
	default:
		p.badTarget(x, "cannot assign to %s", describe(x))
	}
}

func (p *parser) checkTargets(elts []Expr) {
	for _, x := range elts {
		p.checkTarget(x)
	}
}

func (p *parser) checkSingleTarget(x Expr, where string) {
	switch Unparen(x).(type) {
	case *Name, *Attr, *Index, *BadExpr:
	case *Tuple, *List:
		p.badTarget(x, "%s has one target", where)
	default:
		p.badTarget(x, "cannot assign to %s", describe(x))
	}
}

func (p *parser) badTarget(x Expr, format string, args ...any) {
	d := p.errorf(diag.BadTarget, x.Span(), format, args...)
	if _, ok := x.(*Compare); ok {
		d.Help("'==' compares; one '=' assigns")
	}
}

// describe names a kind of expression, with its article.
func describe(x Expr) string {
	switch x.(type) {
	case *Call:
		return "a call"
	case *Int, *Float, *Str, *Bool, *None, *Ellipsis:
		return "a literal"
	case *Compare:
		return "a comparison"
	case *Cond:
		return "a conditional expression"
	case *Dict:
		return "a dict"
	}
	return "an operation"
}
