package syntax

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// maxIndents bounds the nesting of blocks, as Python does.
const maxIndents = 100

// A scanner cuts a text into tokens in one pass. Layout is turned into tokens: a newline where a logical
// line ends, an indent or dedents where the next one stands further in or out. Brackets are made to
// balance, so that nothing after the scanner needs to care about a missing one. Comments are put aside.
type scanner struct {
	file *source.File
	text string
	errs *diag.List

	toks     []token
	comments []Comment

	indents []int   // columns of the open blocks; the first is 0
	opens   []token // open brackets; inside them line ends mean nothing
	garbled bool    // a mistake with brackets of this statement was reported
	pos     int

	indentChar byte             // what the first indented line used: ' ' or '\t'
	mixed      *diag.Diagnostic // the one complaint about mixed indentation; fixes accumulate
	fatal      *diag.Diagnostic // why nothing of the file can be understood
}

// scan returns the tokens of a file, the last of them kEOF, and its comments. A file that is no text has
// no tokens.
func scan(f *source.File, errs *diag.List) ([]token, []Comment) {
	s := &scanner{file: f, text: f.Text, errs: errs, indents: []int{0}}
	s.toks = make([]token, 0, len(f.Text)/3+16)
	s.run()
	if s.fatal != nil {
		*errs = diag.List{}
		errs.Add(s.fatal)
		return []token{{kEOF, int32(len(s.text)), int32(len(s.text))}}, nil
	}
	return s.toks, s.comments
}

func (s *scanner) run() {
	s.pos = len(s.text) - len(strings.TrimPrefix(s.text, "\ufeff"))
	s.lineStart()
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == ' ' || c == '\t' || c == '\f':
			s.pos++
		case c == '\n' || c == '\r':
			s.lineEnd()
		case c == '#':
			s.comment(false)
		case c == '\\':
			s.backslash()
		case identStart[c]:
			s.word()
		case c >= '0' && c <= '9':
			s.number()
		case c == '.' && s.pos+1 < len(s.text) && isDigit(s.text[s.pos+1]):
			s.number()
		case c == '"' || c == '\'':
			s.str(s.pos)
		default:
			s.operator()
		}
	}
	s.finish()
}

// giveUp ends the scan where nothing that follows can be understood: one complaint says it all.
func (s *scanner) giveUp(at source.Span, code diag.Code, format string, args ...any) *diag.Diagnostic {
	s.fatal = diag.New(code, at, format, args...)
	s.pos = len(s.text)
	return s.fatal
}

func (s *scanner) emit(k kind, start, end int) {
	s.toks = append(s.toks, token{k, int32(start), int32(end)})
}

func (s *scanner) last() kind {
	if len(s.toks) == 0 {
		return kNewline
	}
	return s.toks[len(s.toks)-1].kind
}

// lineEnd stands on a line end: the logical line is over unless a bracket is open.
func (s *scanner) lineEnd() {
	if len(s.opens) == 0 {
		s.garbled = false
		if !s.last().isLayout() {
			s.emit(kNewline, s.pos, s.pos)
		}
	}
	s.skipNewline()
	s.lineStart()
}

// skipNewline steps over \n, \r\n or \r.
func (s *scanner) skipNewline() {
	if s.text[s.pos] == '\r' && s.pos+1 < len(s.text) && s.text[s.pos+1] == '\n' {
		s.pos++
	}
	s.pos++
}

// lineStart measures the indentation of the next line that holds a token, and emits what it means.
// Lines that are blank or hold a comment only mean nothing.
func (s *scanner) lineStart() {
	for {
		start := s.pos
		col, spaces, tabs := s.indentation()
		if s.pos == len(s.text) {
			return
		}
		switch c := s.text[s.pos]; {
		case c == '#':
			s.comment(true)
			continue
		case c == '\n' || c == '\r':
			s.skipNewline()
			continue
		}
		if len(s.opens) > 0 {
			if !s.bracketForgotten(col) {
				return
			}
			s.closeAll(start)
		}
		col = s.checkMixed(start, col, spaces, tabs)
		s.layout(start, col)
		return
	}
}

// indentation consumes leading space. A tab reaches to the next multiple of 8, as in Python; a form feed
// starts the line anew.
func (s *scanner) indentation() (col int, spaces, tabs bool) {
	for ; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case ' ':
			col, spaces = col+1, true
		case '\t':
			col, tabs = col/8*8+8, true
		case '\f':
			col, spaces, tabs = 0, false, false
		default:
			return col, spaces, tabs
		}
	}
	return col, spaces, tabs
}

// checkMixed complains when a line is indented by other characters than the lines before it. One
// diagnostic carries the fixes of all such lines. It returns the column to go on with: tabs are 4 columns
// wide where only that leads to a block, or where a line that opens one is deeper then than the line above.
func (s *scanner) checkMixed(start, col int, spaces, tabs bool) int {
	if !spaces && !tabs {
		return col
	}
	if s.indentChar == 0 {
		s.indentChar = ' '
		if tabs {
			s.indentChar = '\t'
		}
	}
	if !(spaces && tabs) && tabs == (s.indentChar == '\t') {
		return col
	}
	at := s.file.Span(start, s.pos)
	if s.mixed == nil {
		s.mixed = s.errs.Errorf(diag.MixedIndent, at, "indentation mixes tabs and spaces").
			Help("indent with spaces only: how wide a tab is depends on who looks")
	}
	narrow := len(strings.ReplaceAll(s.text[start:s.pos], "\t", "    "))
	if s.opensBlock() {
		if narrow > s.indents[len(s.indents)-1] {
			col = narrow
		}
	} else if !slices.Contains(s.indents, col) {
		col = narrow
	}
	depth := 0
	for depth < len(s.indents) && s.indents[depth] < col {
		depth++
	}
	s.mixed.Fix(at, strings.Repeat("    ", depth), "indent by %d spaces", 4*depth)
	return col
}

// opensBlock reports whether the line above ended in a colon.
func (s *scanner) opensBlock() bool {
	n := len(s.toks)
	return n > 1 && s.toks[n-1].kind == kNewline && s.toks[n-2].kind == kColon
}

// layout compares a line's column with the open blocks.
func (s *scanner) layout(start, col int) {
	top := s.indents[len(s.indents)-1]
	if col == top {
		return
	}
	if col > top {
		if len(s.indents) == maxIndents {
			s.giveUp(s.file.Span(start, s.pos), diag.TooDeep, "blocks are nested more than %d deep", maxIndents)
			return
		}
		s.indents = append(s.indents, col)
		s.emit(kIndent, s.pos, s.pos)
		return
	}
	for last := len(s.indents) - 1; s.indents[last] > col; last-- {
		if s.indents[last-1] < col {
			s.badDedent(start, col, s.indents[last], s.indents[last-1])
			return
		}
		s.indents = s.indents[:last]
		s.emit(kDedent, s.pos, s.pos)
	}
}

// badDedent reports a line that goes back to a column between two blocks, and goes on as if it stood in
// the nearer one. The inner block then continues at this column: it may be its first line that is wrong.
func (s *scanner) badDedent(start, col, inner, outer int) {
	last := len(s.indents) - 1
	if s.mixed != nil { // that tabs are as wide as here was a guess
		s.indents[last] = col
		return
	}
	s.indents = s.indents[:last]
	at, want := s.file.Span(start, s.pos), outer
	around := columns(s.indents, inner)
	if inner-col < col-outer {
		want = inner
		s.indents = append(s.indents, col)
	} else {
		s.emit(kDedent, s.pos, s.pos)
	}
	s.errs.Errorf(diag.BadDedent, at, "this line is indented by %d columns, where no block starts: the blocks around it start at %s",
		col, around).
		Fix(at, strings.Repeat(" ", want), "indent by %d", want)
}

func columns(outer []int, inner int) string {
	var b strings.Builder
	for _, c := range outer {
		fmt.Fprintf(&b, "%d, ", c)
	}
	return strings.TrimSuffix(b.String(), ", ") + fmt.Sprintf(" and %d", inner)
}

// bracketForgotten looks at a line that starts inside brackets: one that can only be a statement shows
// that a bracket was never closed.
func (s *scanner) bracketForgotten(col int) bool {
	rest := s.text[s.pos:]
	n := 0
	for n < len(rest) && identPart[rest[n]] {
		n++
	}
	if keyword(rest[:n]).startsStmt() {
		// f(\n  class=1) is wrong too, but not for want of a bracket.
		return !strings.HasPrefix(strings.TrimLeft(rest[n:], " "), "=")
	}
	return col == 0 && len(rest) > 1 && rest[0] == '@' && identStart[rest[1]]
}

// closeAll reports the innermost open bracket, supplies all missing ones, and ends the line.
func (s *scanner) closeAll(at int) {
	end := at
	if n := len(s.toks); n > 0 {
		end = int(s.toks[n-1].end)
	}
	open := s.opens[len(s.opens)-1]
	s.complain(diag.UnclosedBracket, s.file.Span(int(open.start), int(open.end)), "%q is never closed", s.text[open.start:open.end]).
		Note(s.file.Span(end, end), "the statement seems to end here").
		Fix(s.file.Span(end, end), closing(open.kind), "close it")
	for i := len(s.opens) - 1; i >= 0; i-- {
		s.emit(s.opens[i].kind+1, end, end)
	}
	s.opens, s.garbled = s.opens[:0], false
	s.emit(kNewline, end, end)
}

func closing(open kind) string {
	switch open {
	case kLParen:
		return ")"
	case kLBrack:
		return "]"
	}
	return "}"
}

// finish ends the last line and all blocks.
func (s *scanner) finish() {
	n := len(s.text)
	if len(s.opens) > 0 {
		s.closeAll(n)
	}
	if !s.last().isLayout() {
		s.emit(kNewline, n, n)
	}
	for range s.indents[1:] {
		s.emit(kDedent, n, n)
	}
	s.emit(kEOF, n, n)
}

// comment consumes up to the end of the line.
func (s *scanner) comment(own bool) {
	start := s.pos
	for s.pos < len(s.text) && s.text[s.pos] != '\n' && s.text[s.pos] != '\r' {
		s.pos++
	}
	s.comments = append(s.comments, Comment{
		At: s.file.Span(start, s.pos), Text: strings.TrimRight(s.text[start:s.pos], " \t\f"), Own: own,
	})
}

// backslash joins this line to the next.
func (s *scanner) backslash() {
	start := s.pos
	s.pos++
	if s.pos == len(s.text) || s.text[s.pos] == '\n' || s.text[s.pos] == '\r' {
		if s.pos < len(s.text) {
			s.skipNewline()
		}
		return
	}
	at := s.file.Span(start, s.pos)
	d := s.errs.Errorf(diag.BadCharacter, at, `a "\" joins two lines only as the last character of the first`)
	rest := strings.TrimLeft(s.text[s.pos:], " \t")
	if rest == "" || rest[0] == '\n' || rest[0] == '\r' {
		end := len(s.text) - len(rest)
		d.Fix(s.file.Span(s.pos, end), "", "delete the space after it")
	}
}

func (s *scanner) word() {
	start := s.pos
	for s.pos < len(s.text) && identPart[s.text[s.pos]] {
		s.pos++
	}
	if s.pos < len(s.text) && s.text[s.pos] >= utf8.RuneSelf {
		s.wideWord()
	}
	text := s.text[start:s.pos]
	if s.pos < len(s.text) && (s.text[s.pos] == '"' || s.text[s.pos] == '\'') && isStringPrefix(text) {
		s.str(start)
		return
	}
	s.emit(keyword(text), start, s.pos)
}

// wideWord goes on with an identifier past letters outside ASCII.
func (s *scanner) wideWord() {
	for s.pos < len(s.text) {
		r, n := utf8.DecodeRuneInString(s.text[s.pos:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			return
		}
		s.pos += n
	}
}

var identStart, identPart = identTables()

func identTables() (start, part [256]bool) {
	for c := 0; c < 256; c++ {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		start[c], part[c] = letter, letter || isDigit(byte(c))
	}
	return start, part
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
