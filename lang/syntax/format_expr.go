package syntax

import (
	"fmt"
	"strconv"
	"strings"

	"ptoc/lang/source"
)

// expr returns the document of an expression that stands where operators of a level bind: parentheses go
// around what binds more loosely (in trees made by hand; the parser keeps the parentheses of the text).
func (p *printer) expr(x Expr, level uint8) doc {
	d, prec := p.exprPrec(x)
	if prec < level {
		return seq(text("("), d, text(")"))
	}
	return d
}

// exprPrec returns the document of an expression and how tightly it binds.
func (p *printer) exprPrec(x Expr) (doc, uint8) {
	switch x := x.(type) {
	case *Name:
		return text(x.Text), precPrimary
	case *Int:
		if x.Lit == "" {
			return number(strconv.FormatInt(x.Value, 10))
		}
		return text(x.Lit), precPrimary
	case *Float:
		if x.Lit == "" {
			return number(floatText(x.Value))
		}
		return text(x.Lit), precPrimary
	case *Str:
		return p.str(x), precPrimary
	case *Bool:
		if x.Value {
			return text("True"), precPrimary
		}
		return text("False"), precPrimary
	case *None:
		return text("None"), precPrimary
	case *Ellipsis:
		return text("..."), precPrimary
	case *Attr:
		dot := "."
		if _, ok := x.X.(*Int); ok {
			dot = " ." // 1.x would be a float
		}
		return seq(p.expr(x.X, precPrimary), text(dot+x.Sel.Text)), precPrimary
	case *Call:
		return p.call(x), precPrimary
	case *Index:
		comma := noComma
		if x.Comma {
			comma = always
		}
		return seq(p.expr(x.X, precPrimary), p.list("[", "]", p.items(x.Items), x.At.End, comma)), precPrimary
	case *Slice:
		return p.slice(x), precPrimary
	case *Tuple:
		return p.tuple(x)
	case *List:
		return p.list("[", "]", p.items(x.Elts), x.At.End, oneComma), precPrimary
	case *Dict:
		return p.dict(x), precPrimary
	case *Unary:
		op := x.Op.String()
		if x.Op == Not {
			op = "not "
		}
		return seq(text(op), p.expr(x.X, opPrec[x.Op])), opPrec[x.Op]
	case *Binary, *Compare, *Cond:
		return p.chain(x)
	case *Paren:
		return p.list("(", ")", p.items([]Expr{x.X}), x.At.End, noComma), precPrimary
	}
	return text(x.Span().Text()), precLambda
}

// number returns a literal of a tree made by hand, which may be negative.
func number(s string) (doc, uint8) {
	if s[0] == '-' {
		return text(s), precUnary
	}
	return text(s), precPrimary
}

// floatText writes a float so that it reads back as the same float.
func floatText(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".eE") {
		s += ".0"
	}
	return s
}

// Quote writes a string literal.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (p *printer) str(x *Str) doc {
	if len(x.Pieces) == 0 {
		return text(Quote(x.Value))
	}
	if len(x.Pieces) == 1 {
		return text(x.Pieces[0])
	}
	c := doc{kind: docChain}
	for _, piece := range x.Pieces {
		c.parts = append(c.parts, part{doc: text(piece)})
	}
	return c
}

func (p *printer) call(x *Call) doc {
	fn := p.expr(x.Fn, precPrimary)
	items := p.items(x.Args)
	for _, k := range x.Keywords {
		items = append(items, listItem{k.At, func() doc { return seq(text(k.Name.Text+"="), p.expr(k.Value, precCond)) }})
	}
	return seq(fn, p.list("(", ")", items, x.At.End, oneComma))
}

// slice sets the colons off with spaces where an operand has some itself.
func (p *printer) slice(x *Slice) doc {
	colon := ":"
	for _, operand := range []Expr{x.Lo, x.Hi, x.Step} {
		switch operand.(type) {
		case *Binary, *Compare, *Cond:
			colon = " : "
		}
	}
	var parts []doc
	add := func(operand Expr, before string) {
		switch {
		case operand == nil:
			before = strings.TrimRight(before, " ")
		case len(parts) == 0:
			before = strings.TrimLeft(before, " ")
		}
		if before != "" {
			parts = append(parts, text(before))
		}
		if operand != nil {
			parts = append(parts, p.expr(operand, precCond))
		}
	}
	add(x.Lo, "")
	add(x.Hi, colon)
	if x.Step != nil {
		add(x.Step, colon)
	}
	return seq(parts...)
}

// tuple without parentheses may stand in few places only; exprPrec's caller sees that by its level.
func (p *printer) tuple(x *Tuple) (doc, uint8) {
	comma := oneComma
	if len(x.Elts) == 1 {
		comma = always
	}
	if x.Parens || len(x.Elts) == 0 {
		return p.list("(", ")", p.items(x.Elts), x.At.End, comma), precPrimary
	}
	var parts []doc
	for i, e := range x.Elts {
		if i > 0 {
			parts = append(parts, text(", "))
		}
		parts = append(parts, p.expr(e, precCond))
	}
	if len(x.Elts) == 1 {
		parts = append(parts, text(","))
	}
	return seq(parts...), 0
}

func (p *printer) dict(x *Dict) doc {
	var items []listItem
	for i := range x.Keys {
		k, v := x.Keys[i], x.Values[i]
		items = append(items, listItem{k.Span().To(v.Span()), func() doc {
			return seq(p.expr(k, precCond), text(": "), p.expr(v, precCond))
		}})
	}
	return p.list("{", "}", items, x.At.End, oneComma)
}

// chain makes one chain of operators of the same level, which break together.
func (p *printer) chain(x Expr) (doc, uint8) {
	c := doc{kind: docChain}
	var last source.Span // of the operand before
	add := func(op string, y Expr, level uint8) {
		if n := len(c.parts); n > 0 && p.brackets > 0 {
			// The comment after the last operand is the business of the bracket: a comma may come before it.
			c.parts[n-1].after = p.takeAfter(last)
		}
		c.parts = append(c.parts, p.chainPart(op, y, level))
		last = y.Span()
	}
	switch x := x.(type) {
	case *Compare:
		add("", x.X, precCompare+1)
		for i, op := range x.Ops {
			add(op.String(), x.Rest[i], precCompare+1)
		}
		return c, precCompare
	case *Cond:
		add("", x.Then, precOr)
		add("if", x.If, precOr)
		add("else", x.Else, precCond)
		return c, precCond
	}
	b := x.(*Binary)
	prec := opPrec[b.Op]
	if b.Op == Pow {
		add("", b.X, precPow+1)
		add("**", b.Y, precUnary)
		return c, precPow
	}
	var links []*Binary
	for y := x; ; {
		l, ok := y.(*Binary)
		if !ok || opPrec[l.Op] != prec {
			add("", y, prec)
			break
		}
		links = append(links, l)
		y = l.X
	}
	for i := len(links) - 1; i >= 0; i-- {
		add(links[i].Op.String(), links[i].Y, prec+1)
	}
	return c, prec
}

// chainPart takes along the comments before an operand.
func (p *printer) chainPart(op string, y Expr, level uint8) part {
	if p.brackets == 0 {
		return part{op: op, doc: p.expr(y, level)} // no comment can stand between, and one after is the statement's
	}
	d := part{op: op, above: p.take(y.Span())}
	d.doc = p.expr(y, level)
	return d
}

// listItem is something between brackets: where it stands, and how to make its document.
type listItem struct {
	at   source.Span
	make func() doc
}

// items of a bracket are elements of any level but a bare tuple.
func (p *printer) items(xs []Expr) []listItem {
	out := make([]listItem, len(xs))
	for i, x := range xs {
		out[i] = listItem{x.Span(), func() doc { return p.expr(x, precCond) }}
	}
	return out
}

// list makes a bracket of its items and the comments between them. The bracket closes at end or before.
func (p *printer) list(open, close string, items []listItem, end int32, comma commaRule) doc {
	d := doc{kind: docGroup, text: open, close: close, comma: comma}
	p.brackets++
	defer func() { p.brackets-- }()
	for _, it := range items {
		q := part{above: p.take(it.at)}
		q.doc = it.make()
		q.after = p.takeAfter(it.at)
		d.parts = append(d.parts, q)
	}
	if p.src != nil {
		for len(p.comments) > 0 && p.comments[0].At.Start < end {
			d.below = append(d.below, p.comments[0].Text)
			p.comments = p.comments[1:]
		}
	}
	return d
}

// take returns the comments before a place inside a statement.
func (p *printer) take(at source.Span) (above []string) {
	for at.IsValid() && len(p.comments) > 0 && p.comments[0].At.Start < at.Start {
		above = append(above, p.comments[0].Text)
		p.comments = p.comments[1:]
	}
	return above
}

func (p *printer) takeAfter(at source.Span) *Comment {
	if !at.IsValid() {
		return nil
	}
	return p.trailingComment(at.End)
}
