package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ptoc/lang/diag"
)

// number scans integers in four bases and floats. Its value is read by the expression parser.
func (s *scanner) number() {
	start, k := s.pos, kInt
	if s.text[s.pos] == '0' && s.pos+1 < len(s.text) && strings.IndexByte("xXoObB", s.text[s.pos+1]) >= 0 {
		s.pos += 2
		s.digits(true)
	} else {
		s.digits(false)
		if s.peek(0) == '.' {
			k = kFloat
			s.pos++
			s.digits(false)
		}
		if c := s.peek(0); c == 'e' || c == 'E' {
			sign := 0
			if n := s.peek(1); n == '+' || n == '-' {
				sign = 1
			}
			if isDigit(s.peek(1 + sign)) {
				k = kFloat
				s.pos += 1 + sign
				s.digits(false)
			}
		}
	}
	// Letters that follow belong to the literal, which is then wrong as a whole: 12ab, 1j.
	s.digits(true)
	s.emit(k, start, s.pos)
}

// digits consumes digits and underscores, and with them letters where asked to.
func (s *scanner) digits(letters bool) {
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if !isDigit(c) && c != '_' && !(letters && identPart[c]) {
			return
		}
		s.pos++
	}
}

func (s *scanner) peek(n int) byte {
	if s.pos+n < len(s.text) {
		return s.text[s.pos+n]
	}
	return 0
}

// isStringPrefix reports whether the letters before a quote belong to the string.
func isStringPrefix(p string) bool {
	switch strings.ToLower(p) {
	case "r", "b", "f", "u", "rb", "br", "rf", "fr":
		return true
	}
	return false
}

// str scans a string literal that starts (with its prefix) at start; s.pos stands on the quote.
func (s *scanner) str(start int) {
	quote := s.text[s.pos]
	triple := s.peek(1) == quote && s.peek(2) == quote
	if triple {
		s.pos += 3
	} else {
		s.pos++
	}
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		switch {
		case c == '\\':
			s.pos++
			if s.pos < len(s.text) {
				if c := s.text[s.pos]; c == '\n' || c == '\r' {
					s.skipNewline()
				} else {
					s.pos++
				}
			}
			continue
		case c == quote && !triple:
			s.pos++
			s.emit(kString, start, s.pos)
			return
		case c == quote && s.peek(1) == quote && s.peek(2) == quote:
			s.pos += 3
			s.emit(kString, start, s.pos)
			return
		case (c == '\n' || c == '\r') && !triple:
			s.unterminated(start, string(quote))
			return
		}
		s.pos++
	}
	if triple {
		s.unterminated(start, strings.Repeat(string(quote), 3))
	} else {
		s.unterminated(start, string(quote))
	}
}

// unterminated reports a string without an end. The token is made all the same: what follows on other
// lines is not the string's fault.
func (s *scanner) unterminated(start int, quote string) {
	at := s.file.Span(start, s.pos)
	end := s.file.Span(s.pos, s.pos)
	if len(quote) == 3 {
		at.End = at.Start + int32(len(quote))
	}
	s.errs.Errorf(diag.UnterminatedString, at, "this string has no closing %s", quote).
		Fix(end, quote, "close it here")
	s.emit(kString, start, s.pos)
}

// operators by first byte, longest first.
var operators = func() (t [128][]operatorText) {
	add := func(k kind, texts ...string) {
		for i, text := range texts {
			t[text[0]] = append(t[text[0]], operatorText{text, k + kind(i)})
		}
	}
	add(kEllipsis, "...")
	add(kAugAdd, "+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=", "<<=", ">>=", "&=", "|=", "^=")
	add(kEq, "==", "!=")
	add(kLe, "<=")
	add(kGe, ">=")
	add(kArrow, "->", ":=")
	add(kPower, "**")
	add(kDblSlash, "//")
	add(kShl, "<<", ">>")
	add(kLParen, "(", ")", "[", "]", "{", "}", ",", ":", ";", ".")
	add(kAssign, "=", "+", "-", "*", "/")
	add(kPercent, "%")
	add(kAt, "@")
	add(kAmp, "&", "|", "^", "~")
	add(kLt, "<")
	add(kGt, ">")
	for c := range t {
		sortLongestFirst(t[c])
	}
	return t
}()

type operatorText struct {
	text string
	kind kind
}

func sortLongestFirst(ops []operatorText) {
	for i := range ops {
		for j := i; j > 0 && len(ops[j].text) > len(ops[j-1].text); j-- {
			ops[j], ops[j-1] = ops[j-1], ops[j]
		}
	}
}

func (s *scanner) operator() {
	c := s.text[s.pos]
	if c < utf8.RuneSelf {
		if s.foreignOperator() {
			return
		}
		for _, op := range operators[c] {
			if strings.HasPrefix(s.text[s.pos:], op.text) {
				s.punct(op)
				return
			}
		}
	}
	s.badCharacter()
}

// punct emits an operator and keeps the brackets in balance.
func (s *scanner) punct(op operatorText) {
	start := s.pos
	s.pos += len(op.text)
	switch op.kind {
	case kLParen, kLBrack, kLBrace:
		s.opens = append(s.opens, token{op.kind, int32(start), int32(s.pos)})
	case kRParen, kRBrack, kRBrace:
		if n := len(s.opens); n > 0 && op.kind == s.opens[n-1].kind+1 {
			s.opens = s.opens[:n-1]
			break
		}
		if op.kind = s.unmatched(op.kind, start); op.kind == kEOF {
			return
		}
	}
	s.emit(op.kind, start, s.pos)
}

// foreignOperator understands what people bring along from C, and says how it is spelled here.
func (s *scanner) foreignOperator() bool {
	rest := s.text[s.pos:]
	var n int
	var k kind
	var ours string
	switch {
	case strings.HasPrefix(rest, "&&"):
		n, k, ours = 2, kAnd, "and"
	case strings.HasPrefix(rest, "||"):
		n, k, ours = 2, kOr, "or"
	case strings.HasPrefix(rest, "<>"):
		n, k, ours = 2, kNe, "!="
	case rest[0] == '!' && !strings.HasPrefix(rest, "!="):
		n, k, ours = 1, kNot, "not"
	default:
		return false
	}
	at := s.file.Span(s.pos, s.pos+n)
	replacement := ours
	if k == kNot {
		replacement += " "
	}
	s.errs.Errorf(diag.ForeignOperator, at, "%q is spelled %q here", rest[:n], ours).
		Fix(at, replacement, "write %q", ours)
	s.emit(k, s.pos, s.pos+n)
	s.pos += n
	return true
}

// lookalikes are what word processors put in the place of ASCII.
var lookalikes = map[rune]string{
	'“': `"`, '”': `"`, '„': `"`, '‘': "'", '’': "'", '−': "-", '–': "-", '—': "-", '×': "*", '÷': "/",
	'\u00a0': " ", '\u200b': "", '\u3000': " ", '（': "(", '）': ")", '，': ",", '：': ":", '；': ";",
	'≤': "<=", '≥': ">=", '≠': "!=", '…': "...", '＝': "=",
}

func (s *scanner) badCharacter() {
	start := s.pos
	r, n := utf8.DecodeRuneInString(s.text[s.pos:])
	if unicode.IsLetter(r) {
		s.wideWord()
		s.emit(kIdent, start, s.pos)
		return
	}
	s.pos += n
	at := s.file.Span(start, s.pos)
	if r == utf8.RuneError && n == 1 {
		d := s.giveUp(at, diag.BadCharacter, "the byte 0x%02x is not UTF-8 text", s.text[start])
		if strings.HasPrefix(s.text, "\xff\xfe") || strings.HasPrefix(s.text, "\xfe\xff") {
			d.Help("the file is UTF-16: save it as UTF-8")
		}
		return
	}
	if r == 0 {
		s.giveUp(at, diag.BadCharacter, "the file holds a zero byte: it is not a text")
		return
	}
	d := s.errs.Errorf(diag.BadCharacter, at, "the character %q (U+%04X) has no meaning here", r, r)
	if ascii, ok := lookalikes[r]; ok {
		d.Fix(at, ascii, "write %q", ascii)
	}
}
