package syntax

import (
	"strings"
	"unicode/utf8"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// The formatter prints a tree in one way, whatever way it was written in: 4 spaces a level, lines of up to
// 100 columns, one statement a line. What it takes over from the text are comments, strings, parentheses
// and blank lines (at most two in a row). Formatting twice changes nothing the second time.

const (
	lineWidth = 100
	indentBy  = "    "
	maxBlank  = 2
)

// FormatSource formats the text of a .pl file. A file with syntax errors comes back as it was, with the
// errors in the list.
func FormatSource(f *source.File, list *diag.List) string {
	var errs diag.List
	tree := Parse(f, Strict, &errs)
	list.Merge(&errs)
	if errs.HasErrors() {
		return f.Text
	}
	return Format(tree)
}

// Format prints a file. The tree may be made by hand: nodes without a span have no comments and no blank
// lines, parentheses are added where precedence needs them.
func Format(f *File) string {
	p := &printer{src: f.Source, comments: f.Comments, first: true}
	p.stmts(f.Stmts)
	p.commentsBefore(1<<31-1, -1)
	return p.alignTails()
}

// FormatExpr prints an expression on one line.
func FormatExpr(x Expr) string {
	p := &printer{}
	return flat(p.expr(x, 0))
}

// FormatStmt prints a statement, without comments.
func FormatStmt(s Stmt) string {
	p := &printer{first: true}
	p.stmt(s)
	return p.out.String()
}

type printer struct {
	src      *source.File
	comments []Comment // those that are not printed yet

	out      strings.Builder
	level    int
	brackets int   // open brackets around what is being made into a doc
	first    bool  // nothing stands in this block yet: no blank line belongs here
	last     int32 // offset in the source after what was printed last
	tails    []tail
}

func (p *printer) startLine() { p.out.WriteString(strings.Repeat(indentBy, p.level)) }

// gap prints the blank lines that stood before an offset.
func (p *printer) gap(start int32) {
	if p.src != nil && !p.first && start > p.last {
		blank := strings.Count(strings.ReplaceAll(p.src.Text[p.last:start], "\r\n", "\n"), "\n") - 1
		p.out.WriteString(strings.Repeat("\n", max(0, min(blank, maxBlank))))
	}
	p.first = false
}

func (p *printer) stmts(list []Stmt) {
	for _, s := range list {
		p.stmt(s)
	}
}

// stmt prints a statement with the comments above it.
func (p *printer) stmt(s Stmt) {
	at := s.Span()
	if at.IsValid() {
		p.commentsBefore(at.Start, -1)
	}
	switch s := s.(type) {
	case *If:
		p.ifStmt(s)
	case *While:
		p.compound(at, seq(text("while "), p.expr(s.Cond, precCond)), &s.Body)
	case *For:
		p.compound(at, seq(text("for "), p.expr(s.Target, 0), text(" in "), p.expr(s.Iter, 0)), &s.Body)
	case *With:
		p.compound(at, p.withHead(s), &s.Body)
	case *FuncDef:
		p.decorators(s.Decorators)
		p.compound(p.afterDecorators(at, s.Decorators), p.funcHead(s), &s.Body)
	case *ClassDef:
		p.decorators(s.Decorators)
		p.compound(p.afterDecorators(at, s.Decorators), p.classHead(s), &s.Body)
	default:
		p.line(at, p.simple(s), at.End)
	}
}

// line prints one logical line, and after it the comment that stood after it. Comments of its inside that
// found no place go above it.
func (p *printer) line(at source.Span, d doc, end int32) {
	if at.IsValid() {
		p.commentsBefore(end, -1)
		p.gap(at.Start)
	} else {
		p.first = false
	}
	p.startLine()
	p.put(d, false)
	if at.IsValid() {
		p.last = end
		p.trailing(end)
	}
	p.out.WriteByte('\n')
}

// trailing prints a comment that stands on the line that ends at end.
func (p *printer) trailing(end int32) {
	if c := p.trailingComment(end); c != nil {
		p.tail(c)
		p.last = c.At.End
	}
}

// A tail is a comment that was printed at the end of a line.
type tail struct {
	out  int        // where it starts in the output, after two spaces
	from source.Pos // where it stood
}

func (p *printer) tail(c *Comment) {
	p.out.WriteString("  ")
	p.tails = append(p.tails, tail{p.out.Len(), c.At.Pos()})
	p.out.WriteString(c.Text)
}

// alignTails returns the output with those comments below each other that stood below each other, on lines
// that follow each other, before and now.
func (p *printer) alignTails() string {
	out := p.out.String()
	var b strings.Builder
	done := 0
	for i := 0; i < len(p.tails); {
		n, widest := p.tailRun(out, p.tails[i:])
		for _, t := range p.tails[i : i+n] {
			b.WriteString(out[done:t.out])
			b.WriteString(strings.Repeat(" ", widest-columnAt(out, t.out)))
			done = t.out
		}
		i += n
	}
	b.WriteString(out[done:])
	return b.String()
}

// tailRun counts the comments at the start of a list that belong below each other, and finds the column of
// the one that stands furthest out.
func (p *printer) tailRun(out string, tails []tail) (n, widest int) {
	for n < len(tails) {
		t := tails[n]
		if n > 0 {
			before := tails[n-1]
			if t.from.Line != before.from.Line+1 || t.from.Col != before.from.Col || strings.Count(out[before.out:t.out], "\n") != 1 {
				break
			}
		}
		widest = max(widest, columnAt(out, t.out))
		n++
	}
	return n, widest
}

func columnAt(out string, offset int) int {
	return utf8.RuneCountInString(out[strings.LastIndexByte(out[:offset], '\n')+1 : offset])
}

// trailingComment takes the next comment if nothing but space or a separator stands between it and end.
func (p *printer) trailingComment(end int32) *Comment {
	if len(p.comments) == 0 || p.src == nil {
		return nil
	}
	c := &p.comments[0]
	if c.Own || c.At.Start < end || strings.Trim(p.src.Text[end:c.At.Start], " \t\f;,") != "" {
		return nil
	}
	p.comments = p.comments[1:]
	return c
}

// commentsBefore prints the comments before an offset, each on a line of its own. With a column it stops
// at a comment that stands further out: that one belongs to a block around this one.
func (p *printer) commentsBefore(offset int32, column int) {
	for len(p.comments) > 0 {
		c := p.comments[0]
		if c.At.Start >= offset || column >= 0 && (!c.Own || c.At.Pos().Col < column) {
			return
		}
		p.comments = p.comments[1:]
		p.gap(c.At.Start)
		p.startLine()
		p.out.WriteString(c.Text + "\n")
		p.last = c.At.End
	}
}

// compound prints a head, its colon and its body.
func (p *printer) compound(at source.Span, head doc, b *Block) {
	end := b.At.Start + 1
	if !b.At.IsValid() {
		end = at.Start
	}
	p.line(at, seq(head, text(":")), end)
	p.block(b)
}

func (p *printer) block(b *Block) {
	p.level++
	p.first = true
	p.stmts(b.Stmts)
	if len(b.Stmts) == 0 {
		p.startLine()
		p.out.WriteString("pass\n")
	} else if last := b.Stmts[0].Span(); last.IsValid() {
		// Comments after the last statement that are indented like the block.
		next := int32(1<<31 - 1)
		if p.src != nil {
			next = p.nextCode(b.At.End)
		}
		if column := last.Pos().Col; column > 1 {
			p.commentsBefore(next, column)
		}
	}
	p.level--
	p.first = false
}

// nextCode returns the offset of the next line after an offset that is not blank and no comment.
func (p *printer) nextCode(offset int32) int32 {
	rest := p.src.Text[offset:]
	i := strings.IndexAny(rest, "\r\n")
	for i >= 0 && i < len(rest) {
		switch c := rest[i]; {
		case c == '#':
			n := strings.IndexAny(rest[i:], "\r\n")
			if n < 0 {
				return int32(len(p.src.Text))
			}
			i += n
		case strings.IndexByte(" \t\f\r\n", c) >= 0:
			i++
		default:
			return offset + int32(i)
		}
	}
	return int32(len(p.src.Text))
}

func (p *printer) ifStmt(s *If) {
	p.compound(s.At, seq(text("if "), p.expr(s.Cond, precCond)), &s.Body)
	for _, e := range s.Elifs {
		p.commentsBefore(e.Cond.Span().Start, -1)
		p.first = true // no blank line before elif and else
		p.compound(e.Cond.Span(), seq(text("elif "), p.expr(e.Cond, precCond)), &e.Body)
	}
	if s.Else != nil {
		if at := s.Else.At; at.IsValid() {
			p.commentsBefore(at.Start, -1)
		}
		p.first = true
		p.compound(s.Else.At, text("else"), s.Else)
	}
}

func (p *printer) decorators(list []*Decorator) {
	for _, d := range list {
		x := d.X.Span()
		line := x
		if x.IsValid() {
			p.commentsBefore(x.Start, -1)
			line.Start--
		}
		p.line(line, seq(text("@"), p.expr(d.X, 0)), x.End)
		p.first = true // no blank line below a decorator
	}
}

// afterDecorators returns the place of `def` or `class`.
func (p *printer) afterDecorators(at source.Span, list []*Decorator) source.Span {
	if n := len(list); n > 0 && at.IsValid() {
		at.Start = max(p.nextCode(list[n-1].X.Span().End), at.Start)
		p.commentsBefore(at.Start, -1)
	}
	return at
}

func (p *printer) withHead(s *With) doc {
	parts := []doc{text("with ")}
	for i, it := range s.Items {
		if i > 0 {
			parts = append(parts, text(", "))
		}
		parts = append(parts, p.expr(it.Context, precCond))
		if it.As != nil {
			parts = append(parts, text(" as "), p.expr(it.As, 0))
		}
	}
	return seq(parts...)
}

func (p *printer) funcHead(s *FuncDef) doc {
	items := make([]listItem, 0, len(s.Params))
	for _, q := range s.Params {
		items = append(items, listItem{q.Span(), func() doc { return p.param(q) }})
	}
	end := s.Body.At.Start
	if s.Result != nil {
		end = s.Result.Span().Start
	}
	params := p.list("(", ")", items, end, oneComma)
	params.preferred = true
	parts := []doc{text("def " + s.Name.Text), params}
	if s.Result != nil {
		parts = append(parts, text(" -> "), p.expr(s.Result, 0))
	}
	return seq(parts...)
}

func (p *printer) param(q *Param) doc {
	parts := []doc{text(q.Star.Text + q.Name.Text)}
	equals := "="
	if q.Annot != nil {
		parts = append(parts, text(": "), p.expr(q.Annot, 0))
		equals = " = "
	}
	if q.Default != nil {
		parts = append(parts, text(equals), p.expr(q.Default, 0))
	}
	return seq(parts...)
}

func (p *printer) classHead(s *ClassDef) doc {
	if len(s.Bases) == 0 {
		return text("class " + s.Name.Text)
	}
	return seq(text("class "+s.Name.Text), p.list("(", ")", p.items(s.Bases), s.Body.At.Start, oneComma))
}

// simple returns the document of a statement of one line.
func (p *printer) simple(s Stmt) doc {
	switch s := s.(type) {
	case *ExprStmt:
		return p.expr(s.X, 0)
	case *Assign:
		var parts []doc
		for _, t := range s.Targets {
			parts = append(parts, p.expr(t, 0), text(" = "))
		}
		return seq(append(parts, p.expr(s.Value, 0))...)
	case *AnnAssign:
		parts := []doc{p.expr(s.Target, 0), text(": "), p.expr(s.Annot, 0)}
		if s.Value != nil {
			parts = append(parts, text(" = "), p.expr(s.Value, 0))
		}
		return seq(parts...)
	case *AugAssign:
		return seq(p.expr(s.Target, 0), text(" "+s.Op.String()+"= "), p.expr(s.Value, 0))
	case *Return:
		if s.Value == nil {
			return text("return")
		}
		return seq(text("return "), p.expr(s.Value, 0))
	case *Pass:
		return text("pass")
	case *Break:
		return text("break")
	case *Continue:
		return text("continue")
	case *Import:
		return seq(text("import "), text(aliases(s.Names)))
	case *FromImport:
		return p.fromImport(s)
	case *Global:
		names := make([]string, len(s.Names))
		for i, n := range s.Names {
			names[i] = n.Text
		}
		return text("global " + strings.Join(names, ", "))
	case *Assert:
		if s.Msg == nil {
			return seq(text("assert "), p.expr(s.Cond, 0))
		}
		return seq(text("assert "), p.expr(s.Cond, 0), text(", "), p.expr(s.Msg, 0))
	}
	return text(s.Span().Text())
}

func (p *printer) fromImport(s *FromImport) doc {
	head := "from " + s.Module + " import "
	if s.Star {
		return text(head + "*")
	}
	if one := head + aliases(s.Names); p.level*len(indentBy)+len(one) <= lineWidth {
		return text(one)
	}
	items := make([]listItem, len(s.Names))
	for i, a := range s.Names {
		items[i] = listItem{make: func() doc { return text(aliases([]*Alias{a})) }}
	}
	return seq(text(head), p.list("(", ")", items, 0, oneComma))
}

func aliases(list []*Alias) string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.Path
		if a.As != "" {
			out[i] += " as " + a.As
		}
	}
	return strings.Join(out, ", ")
}
