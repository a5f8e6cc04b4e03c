package syntax

import "ptoc/lang/diag"

// maxDepth bounds the nesting of expressions and blocks together: deeper text is no program, and would
// only exhaust the stack.
const maxDepth = 1000

// deeper counts a level of nesting; the caller counts down again.
func (p *parser) deeper(at int) {
	if p.depth++; p.depth > maxDepth {
		p.fail(diag.TooDeep, p.span(at), "nested more than %d deep", maxDepth)
	}
}

// exprList parses `a` or a tuple without parentheses.
func (p *parser) exprList() Expr { return p.listOf((*parser).element) }

// targets parses what stands between `for` and `in`.
func (p *parser) targets() Expr { return p.listOf((*parser).target) }

func (p *parser) listOf(one func(*parser) Expr) Expr {
	start := p.pos
	x := one(p)
	if p.kind() != kComma {
		return x
	}
	t := &Tuple{Elts: []Expr{x}}
	for p.got(kComma) {
		if !p.startsExpr() {
			break
		}
		t.Elts = append(t.Elts, one(p))
	}
	t.At = p.since(start)
	return t
}

// target parses one target of a loop or of `as`; `in` is no operator here.
func (p *parser) target() Expr {
	x := p.starred((*parser).primary)
	p.checkTarget(x)
	return x
}

// element parses an element of a display or a bare tuple.
func (p *parser) element() Expr {
	x := p.starred((*parser).expr)
	if p.kind() == kWalrus {
		x = p.walrus(x)
	}
	return x
}

// starred refuses *x and **x.
func (p *parser) starred(one func(*parser) Expr) Expr {
	if p.kind() != kStar && p.kind() != kPower {
		return one(p)
	}
	start := p.next()
	one(p)
	what := "'" + p.tokenText(start) + "' before an expression"
	return p.refuse(p.since(start), what)
}

// startsExpr says whether an expression can begin with the next token.
func (p *parser) startsExpr() bool {
	switch k := p.kind(); k {
	case kIdent, kInt, kFloat, kString, kLParen, kLBrack, kLBrace, kEllipsis, kMinus, kPlus, kTilde, kStar,
		kPower, kNot, kTrue, kFalse, kNone, kLambda, kYield, kAwait:
		return true
	}
	return false
}

// expr parses an expression with everything but the comma.
func (p *parser) expr() Expr {
	switch p.kind() {
	case kLambda:
		return p.lambda()
	case kYield:
		return p.yield()
	}
	start := p.pos
	x := p.binary(precOr)
	if p.kind() != kIf {
		return x
	}
	p.next()
	n := &Cond{Then: x, If: p.binary(precOr)}
	p.expect(kElse, "'else' and the value for when the condition is false")
	p.deeper(start)
	n.Else = p.expr()
	p.depth--
	n.At = p.since(start)
	return n
}

// binary parses operators that bind at least as tightly as min.
func (p *parser) binary(min uint8) Expr {
	p.deeper(p.pos)
	x := p.unary(min)
	for {
		k := p.kind()
		op := binaryOp[k]
		prec := opPrec[op]
		if op == NoOp || prec < min || k.isAug() || k == kNot && p.peekKind(1) != kIn {
			break
		}
		switch prec {
		case precCompare:
			x = p.compare(x)
			continue
		case precPow:
			prec = precUnary - 1 // to the right, and a sign may follow
		}
		at := p.span(p.next())
		y := p.binary(prec + 1)
		x = &Binary{At: x.Span().To(y.Span()), Op: op, OpAt: at, X: x, Y: y}
	}
	p.depth--
	return x
}

// compare parses a chain of comparisons.
func (p *parser) compare(x Expr) Expr {
	n := &Compare{X: x, Ops: make([]Op, 0, 1), Rest: make([]Expr, 0, 1)}
	for {
		op := binaryOp[p.kind()]
		if opPrec[op] != precCompare || p.kind() == kNot && p.peekKind(1) != kIn {
			break
		}
		switch p.toks[p.next()].kind {
		case kNot:
			p.next()
		case kIs:
			if p.got(kNot) {
				op = IsNot
			}
		}
		n.Ops = append(n.Ops, op)
		n.Rest = append(n.Rest, p.binary(precCompare+1))
	}
	n.At = x.Span().To(n.Rest[len(n.Rest)-1].Span())
	return n
}

var unaryOp = map[kind]Op{kMinus: Neg, kPlus: Plus, kTilde: Invert, kNot: Not}

func (p *parser) unary(min uint8) Expr {
	k := p.kind()
	switch k {
	case kMinus, kPlus, kTilde, kNot:
	default:
		return p.primary()
	}
	op := unaryOp[k]
	if opPrec[op] < min && op == Not {
		p.errorf(diag.UnexpectedToken, p.span(p.pos), "'not' binds more loosely than the operator before it").
			Help("put it in parentheses: (not x)")
		panic(bailout{})
	}
	start := p.next()
	var x Expr
	if k == kMinus && p.kind() == kInt && p.peekKind(1) != kPower {
		x = p.integer(true)
		x = p.suffixes(x)
	} else {
		x = p.binary(opPrec[op])
	}
	return &Unary{At: p.since(start), Op: op, X: x}
}

// primary parses an atom and the calls, subscripts and attributes after it.
func (p *parser) primary() Expr { return p.suffixes(p.atom()) }

func (p *parser) suffixes(x Expr) Expr {
	for {
		switch p.kind() {
		case kDot:
			p.next()
			sel := p.name()
			x = &Attr{At: p.from(x.Span()), X: x, Sel: sel}
		case kLParen:
			x = p.call(x)
		case kLBrack:
			x = p.index(x)
		default:
			return x
		}
	}
}

// name parses an identifier, which a keyword is not.
func (p *parser) name() Name {
	if p.kind() != kIdent {
		if p.kind().isKeyword() {
			word := p.tokenText(p.pos)
			p.fail(diag.KeywordAsName, p.span(p.pos), "%q is a keyword, so it cannot be a name", word)
		}
		p.failExpected("a name")
	}
	i := p.next()
	return Name{At: p.span(i), Text: p.tokenText(i)}
}

func (p *parser) atom() Expr {
	switch k := p.kind(); k {
	case kIdent:
		i := p.next()
		return &Name{At: p.span(i), Text: p.tokenText(i)}
	case kInt:
		return p.integer(false)
	case kFloat:
		return p.float()
	case kString:
		return p.str()
	case kTrue, kFalse:
		return &Bool{At: p.span(p.next()), Value: k == kTrue}
	case kNone:
		return &None{At: p.span(p.next())}
	case kEllipsis:
		return &Ellipsis{At: p.span(p.next())}
	case kLParen:
		return p.paren()
	case kLBrack:
		return p.list_()
	case kLBrace:
		return p.dict()
	case kLambda:
		return p.lambda()
	case kYield:
		return p.yield()
	case kAwait:
		start := p.next()
		p.primary()
		return p.refuse(p.since(start), "await")
	default:
		if k.isKeyword() && p.peekKind(1) == kAssign {
			p.name()
		}
	}
	p.failExpected("an expression")
	return nil
}

// paren parses (), (x), (x,) and (x, y).
func (p *parser) paren() Expr {
	start := p.next()
	if p.got(kRParen) {
		return &Tuple{At: p.since(start), Parens: true}
	}
	x := p.element()
	switch p.kind() {
	case kFor, kAsync:
		return p.comprehension(start, kRParen, "a generator expression")
	case kComma:
		t := &Tuple{Elts: []Expr{x}, Parens: true}
		p.next()
		t.Elts = p.elements(t.Elts, kRParen)
		t.At = p.since(start)
		return t
	}
	p.closing(kRParen)
	return &Paren{At: p.since(start), X: x}
}

// list_ parses [x, y].
func (p *parser) list_() Expr {
	start := p.next()
	n := &List{}
	if !p.got(kRBrack) {
		n.Elts = append(make([]Expr, 0, 2), p.element())
		if p.kind() == kFor || p.kind() == kAsync {
			return p.comprehension(start, kRBrack, "a list comprehension")
		}
		if p.kind() == kComma {
			p.next()
			n.Elts = p.elements(n.Elts, kRBrack)
		} else {
			p.closing(kRBrack)
		}
	}
	n.At = p.since(start)
	return n
}

// elements parses more elements up to the closing bracket, after a comma.
func (p *parser) elements(elts []Expr, end kind) []Expr {
	for !p.got(end) {
		elts = append(elts, p.element())
		if p.kind() != kComma {
			p.closing(end)
			break
		}
		p.next()
	}
	return elts
}

// closing steps over a closing bracket. The scanner made sure that it comes: so if something else stands
// here, that is what is wrong.
func (p *parser) closing(end kind) {
	if p.got(end) {
		return
	}
	if p.kind() == kAssign {
		at := p.span(p.pos)
		p.errorf(diag.AssignInExpression, at, "'=' assigns, and cannot stand in an expression").
			Fix(at, "==", "compare with '=='")
		panic(bailout{})
	}
	p.failExpected("',' or '" + closers[end] + "'")
}

// dict parses {k: v}; sets and comprehensions are refused.
func (p *parser) dict() Expr {
	start := p.next()
	n := &Dict{}
	set := false
	for !p.got(kRBrace) {
		k := p.element()
		if _, unpacked := k.(*BadExpr); p.kind() == kColon {
			p.next()
			n.Keys = append(n.Keys, k)
			n.Values = append(n.Values, p.expr())
		} else {
			set = set || !unpacked
		}
		if p.kind() == kFor || p.kind() == kAsync {
			return p.comprehension(start, kRBrace, "a comprehension")
		}
		if p.kind() != kComma {
			p.closing(kRBrace)
			break
		}
		p.next()
	}
	if set {
		return p.refuse(p.since(start), "a set")
	}
	n.At = p.since(start)
	return n
}

// call parses the arguments after fn.
func (p *parser) call(fn Expr) Expr {
	open := p.next()
	n := &Call{Fn: fn}
	for !p.got(kRParen) {
		positional := p.argument(n)
		if positional && (p.kind() == kFor || p.kind() == kAsync) {
			n.Args[len(n.Args)-1] = p.comprehension(open, kRParen, "a generator expression")
			break
		}
		if p.kind() != kComma {
			p.closing(kRParen)
			break
		}
		p.next()
	}
	n.At = p.from(fn.Span())
	return n
}

// argument parses one argument and says whether it is positional.
func (p *parser) argument(n *Call) bool {
	if p.peekKind(1) == kAssign && (p.kind() == kIdent || p.kind().isKeyword()) {
		p.keyword(n)
		return false
	}
	start := p.pos
	n.Args = append(n.Args, p.element())
	if len(n.Keywords) > 0 && p.toks[start].kind != kPower && p.toks[start].kind != kStar {
		p.errorf(diag.ArgumentOrder, p.since(start), "a positional argument stands after a keyword argument").
			Note(n.Keywords[len(n.Keywords)-1].At, "keyword argument")
	}
	return true
}

func (p *parser) keyword(n *Call) {
	k := &Keyword{Name: p.name()}
	p.next()
	k.Value = p.expr()
	k.At = k.Name.At.To(k.Value.Span())
	for _, other := range n.Keywords {
		if other.Name.Text == k.Name.Text {
			p.errorf(diag.RepeatedArgument, k.Name.At, "the argument %q is given twice", k.Name.Text).
				Note(other.Name.At, "first given here")
		}
	}
	n.Keywords = append(n.Keywords, k)
}

// index parses the subscript after x.
func (p *parser) index(x Expr) Expr {
	p.next()
	n := &Index{X: x, Items: make([]Expr, 0, 2)}
	for {
		n.Items = append(n.Items, p.subscript())
		if n.Comma = p.kind() == kComma; !n.Comma {
			p.closing(kRBrack)
			break
		}
		p.next()
		if p.got(kRBrack) {
			break
		}
	}
	n.Comma = n.Comma && len(n.Items) == 1
	n.At = p.from(x.Span())
	return n
}

// subscript parses an index or a slice.
func (p *parser) subscript() Expr {
	start := p.pos
	var lo Expr
	if p.kind() != kColon {
		lo = p.element()
		if p.kind() != kColon {
			return lo
		}
	}
	p.next()
	n := &Slice{Lo: lo, Hi: p.optional()}
	if p.got(kColon) {
		n.Step = p.optional()
	}
	n.At = p.since(start)
	return n
}

func (p *parser) optional() Expr {
	if !p.startsExpr() {
		return nil
	}
	return p.expr()
}
