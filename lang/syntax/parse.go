package syntax

import (
	"strings"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// A Mode says how much of a file must be kernel language.
type Mode uint8

const (
	// Strict is for .pl files: every line must be kernel language.
	Strict Mode = iota
	// Lenient is for .py files: only decorated definitions must. Kept besides them: imports, constant
	// assignments, and functions that contain decorated definitions. All else is skipped in silence.
	Lenient
)

// ModeFor returns the mode that a file's name asks for.
func ModeFor(name string) Mode {
	if strings.HasSuffix(name, ".py") {
		return Lenient
	}
	return Strict
}

// Parse reads a file. The tree holds what could be read, even where the list has errors.
func Parse(f *source.File, mode Mode, list *diag.List) *File {
	p := &parser{src: f, text: f.Text, list: list, grammars: grammars(), host: mode == Lenient}
	p.quiet = p.host
	p.roots = []string{"pl", "pld"}
	p.session = int(lastSession.Add(1))
	sessions.Store(p.session, p)
	defer sessions.Delete(p.session)
	return p.file()
}

// A parser reads one file. It stands before toks[pos].
type parser struct {
	grammars *productions
	session  int

	src  *source.File
	text string
	toks []token
	list *diag.List

	pos  int
	line int // index of the first token of this statement

	depth     int             // nesting of expressions and statements
	loops     int             // loops around this statement, in its function
	funcs     int             // functions around this statement
	quiet     bool            // in host code of a lenient file: report nothing
	host      bool            // the file is lenient, so undecorated code is host code
	roots     []string        // names that kernel decorators start with
	factories map[string]bool // functions of host code that make kernels
	kernels   []source.Span
	scanErrs  []*diag.Diagnostic // what the scanner found, by place
	quietly   int                // errors that quiet swallowed
}

// bailout unwinds to the statement that could not be read, through participle where that is between.
type bailout struct{}

func (p *parser) file() *File {
	var scanErrs diag.List
	out := &File{Source: p.src}
	p.toks, out.Comments = scan(p.src, &scanErrs)
	p.scanErrs = scanErrs.Sorted()
	for p.kind() != kEOF {
		out.Stmts = append(out.Stmts, p.topLevel()...)
	}
	p.mergeScanErrors()
	return out
}

// topLevel parses one top-level statement by itself (several, where semicolons join them), so that
// nothing in it can hide an error in the next.
func (p *parser) topLevel() []Stmt {
	start, end := p.pos, p.chunkEnd(p.pos)
	if k := p.kind(); p.host && p.factories == nil && (k == kDef || k == kAt) { // imports stand above
		p.findFactories()
	}
	if p.host && !p.worthReading(start, end) {
		p.pos = end
		return nil
	}
	var out []Stmt
	before := p.quietly
	for p.pos < end {
		out = append(out, p.stmts()...)
	}
	if p.host {
		p.noteImports(out)
		out = keepDeclarations(out, p.quietly == before)
	}
	return out
}

// chunkEnd returns the index after the top-level statement that starts at i: its line, the block below
// it, and what continues it.
func (p *parser) chunkEnd(i int) int {
	for {
		decorator := p.toks[i].kind == kAt
		i = p.lineAndBlock(i)
		switch p.toks[i].kind {
		case kEOF:
			return i
		case kElif, kElse, kExcept, kFinally:
			continue
		}
		if !decorator {
			return i
		}
	}
}

// lineAndBlock returns the index after the logical line at i and the block below it, if any. Layout tokens
// balance, so a block ends where as many dedents as indents were seen.
func (p *parser) lineAndBlock(i int) int {
	for !p.toks[i].kind.isLayout() {
		i++
	}
	if p.toks[i].kind == kNewline {
		i++
	}
	if p.toks[i].kind != kIndent {
		return i
	}
	for depth := 0; p.toks[i].kind != kEOF; i++ {
		switch p.toks[i].kind {
		case kIndent:
			depth++
		case kDedent:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return i
}

func (p *parser) mergeScanErrors() {
	for _, d := range p.scanErrs {
		if !p.host || p.toks[0].kind == kEOF || within(d.At, p.kernels) {
			p.list.Add(d)
		}
	}
}

func within(at source.Span, spans []source.Span) bool {
	for _, s := range spans {
		if s.Start <= at.Start && at.End <= s.End {
			return true
		}
	}
	return false
}

// Tokens.

func (p *parser) kind() kind { return p.toks[p.pos].kind }

func (p *parser) peekKind(n int) kind {
	if p.pos+n < len(p.toks) {
		return p.toks[p.pos+n].kind
	}
	return kEOF
}

// next steps over a token and returns its index. It never steps over the end of the file.
func (p *parser) next() int {
	i := p.pos
	if p.toks[i].kind != kEOF {
		p.pos++
	}
	return i
}

func (p *parser) got(k kind) bool {
	if p.kind() == k {
		p.pos++
		return true
	}
	return false
}

func (p *parser) tokenText(i int) string { return p.text[p.toks[i].start:p.toks[i].end] }

// span is the place of token i.
func (p *parser) span(i int) source.Span {
	return source.Span{File: p.src, Start: p.toks[i].start, End: p.toks[i].end}
}

// since is the place from token i to the last one that was consumed, layout left out.
func (p *parser) since(i int) source.Span {
	last := p.pos - 1
	for last > i && p.toks[last].kind.endsStmt() {
		last--
	}
	last = max(last, i)
	return source.Span{File: p.src, Start: p.toks[i].start, End: p.toks[last].end}
}

// from is the place from the start of a node to the last consumed token.
func (p *parser) from(at source.Span) source.Span {
	at.End = max(at.End, p.toks[p.pos-1].end)
	return at
}

// after is the empty place just behind the last consumed token.
func (p *parser) after() source.Span {
	i := max(p.pos-1, 0)
	for i > 0 && p.toks[i].kind.isLayout() {
		i-- // a line end stands behind the comment
	}
	return source.Span{File: p.src, Start: p.toks[i].end, End: p.toks[i].end}
}

// Errors.

// errorf reports an error, except in code that is only skimmed.
func (p *parser) errorf(code diag.Code, at source.Span, format string, args ...any) *diag.Diagnostic {
	d := diag.New(code, at, format, args...)
	if p.quiet {
		p.quietly++
		return d
	}
	return p.list.Add(d)
}

// fail reports an error and gives the statement up.
func (p *parser) fail(code diag.Code, at source.Span, format string, args ...any) {
	p.errorf(code, at, format, args...)
	panic(bailout{})
}

// garbled says whether the scanner had to complain about this line already: what the parser would say of it
// is then only a consequence.
func (p *parser) garbled() bool {
	last := p.pos
	for !p.toks[last].kind.endsStmt() {
		last++
	}
	start, end := p.toks[p.line].start, p.toks[last].end
	for _, d := range p.scanErrs {
		if d.At.Start >= start && d.At.Start < end {
			return true
		}
	}
	return false
}

// failExpected reports the token that the parser stands at.
func (p *parser) failExpected(what string) {
	if p.garbled() {
		panic(bailout{})
	}
	if p.kind() == kIndent {
		p.fail(diag.UnexpectedIndent, p.span(p.pos+1), indentedForNothing)
	}
	at, found := p.span(p.pos), p.found()
	if p.kind().isLayout() {
		at = p.after() // a line end is where its last token ends, not where a comment does
	}
	p.errorf(diag.UnexpectedToken, at, "expected %s, found %s", what, found)
	panic(bailout{})
}

func (p *parser) expect(k kind, what string) {
	if !p.got(k) {
		p.failExpected(what)
	}
}

// found describes the next token.
func (p *parser) found() string {
	switch k := p.kind(); k {
	case kEOF:
		return "the end of the file"
	case kNewline:
		return "the end of the line"
	case kIndent, kDedent:
		return "a change of indentation"
	case kIdent, kInt, kFloat:
		return p.tokenText(p.pos)
	case kString:
		return "a string"
	default:
		if s, ok := closers[k]; ok {
			return "'" + s + "'"
		}
		return "'" + p.tokenText(p.pos) + "'"
	}
}
