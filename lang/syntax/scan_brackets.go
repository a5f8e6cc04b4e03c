package syntax

import (
	"slices"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// Brackets that do not match. The scanner balances them by whatever makes the statement end where it seems to
// end, and complains once a statement: what follows from the first mistake looks like many.

// unmatched deals with a bracket that closes not the innermost open one: it stands for another one, one is
// missing before it, or it is too much. It returns what the bracket is taken for; kEOF if for nothing.
func (s *scanner) unmatched(k kind, start int) kind {
	at := s.file.Span(start, s.pos)
	n := len(s.opens)
	if n == 0 {
		s.complain(diag.UnmatchedBracket, at, "%q closes nothing", at.Text()).Fix(at, "", "delete it")
		return kEOF
	}
	open := s.opens[n-1]
	outer := n - 1 // where it would close one
	for outer >= 0 && s.opens[outer].kind+1 != k {
		outer--
	}
	switch {
	case s.garbled:
	case outer >= 0 && s.balances(s.opens[:outer]):
		s.complain(diag.UnclosedBracket, s.file.Span(int(open.start), int(open.end)), "%q is never closed", s.text[open.start:open.end]).
			Note(at, "this closes what stands around it").
			Fix(s.file.Span(start, start), closing(open.kind), "close it")
		for len(s.opens) > outer+1 {
			s.emit(s.pop().kind+1, start, start)
		}
		s.pop()
		return k
	case s.balances(s.opens):
		s.complain(diag.UnmatchedBracket, at, "%q closes nothing", at.Text()).Fix(at, "", "delete it")
		return kEOF
	}
	s.complain(diag.UnmatchedBracket, at, "%q cannot close %q", at.Text(), s.text[open.start:open.end]).
		Note(s.file.Span(int(open.start), int(open.end)), "opened here").
		Fix(at, closing(open.kind), "write %q", closing(open.kind))
	return s.pop().kind + 1
}

func (s *scanner) pop() token {
	open := s.opens[len(s.opens)-1]
	s.opens = s.opens[:len(s.opens)-1]
	return open
}

// complain reports the first mistake with brackets of a statement.
func (s *scanner) complain(code diag.Code, at source.Span, format string, args ...any) *diag.Diagnostic {
	if s.garbled {
		return diag.New(code, at, format, args...)
	}
	s.garbled = true
	return s.errs.Errorf(code, at, format, args...)
}

// balances reports whether the rest of the statement closes just the brackets in opens.
func (s *scanner) balances(opens []token) bool {
	depth := make([]kind, 0, len(opens)+8)
	for _, o := range opens {
		depth = append(depth, o.kind)
	}
	look := scanner{file: s.file, text: s.text, pos: s.pos}
	for look.pos < len(look.text) {
		c := look.text[look.pos]
		look.pos++
		switch c {
		case '#':
			look.skipTo('\n')
		case '"', '\'':
			look.skipTo(c)
		case '(', '[', '{':
			depth = append(depth, map[byte]kind{'(': kLParen, '[': kLBrack, '{': kLBrace}[c])
		case ')', ']', '}':
			want := map[byte]kind{')': kLParen, ']': kLBrack, '}': kLBrace}[c]
			if len(depth) == 0 || depth[len(depth)-1] != want {
				return false
			}
			depth = depth[:len(depth)-1]
		case '\n', '\r':
			if len(depth) == 0 {
				return true
			}
			col, _, _ := look.indentation()
			if look.bracketForgotten(col) {
				return false
			}
		}
	}
	return len(depth) == 0
}

// skipTo steps over the next c, or to the end of the line.
func (s *scanner) skipTo(c byte) {
	for s.pos < len(s.text) && !slices.Contains([]byte{'\n', '\r'}, s.text[s.pos]) {
		s.pos++
		if s.text[s.pos-1] == c {
			return
		}
	}
}
