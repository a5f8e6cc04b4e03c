package ptxsim

import (
	"fmt"
	"sort"
	"strings"
)

// token is a word, a number, a string or one character of punctuation.
type token struct {
	kind tokenKind
	text string
	line int
}

type tokenKind uint8

const (
	tEnd  tokenKind = iota
	tWord           // names, registers, directives, opcodes: dots belong to them
	tNum
	tStr
	tPunct
)

func isWordStart(c byte) bool {
	return c == '_' || c == '$' || c == '%' || c == '.' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// lex cuts the text into tokens.
func lex(text string) ([]token, error) {
	var out []token
	line := 1
	for i := 0; i < len(text); {
		c := text[i]
		rest := text[i:]
		n := 0 // length of the token
		switch {
		case c == '\n':
			line++
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case strings.HasPrefix(rest, "//"):
			if n = strings.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
			i += n
		case strings.HasPrefix(rest, "/*"):
			n = strings.Index(rest, "*/")
			if n < 0 {
				return nil, &Error{Line: line, Msg: "comment without end"}
			}
			line += strings.Count(rest[:n], "\n")
			i += n + 2
		case c == '"':
			n = strings.IndexByte(rest[1:], '"')
			if n < 0 {
				return nil, &Error{Line: line, Msg: "string without end"}
			}
			out = append(out, token{tStr, rest[1 : n+1], line})
			i += n + 2
		case isWordStart(c):
			n = wordLen(rest)
			out = append(out, token{tWord, rest[:n], line})
			i += n
		case isDigit(c):
			for n < len(rest) && (isWordStart(rest[n]) && rest[n] != '%' || isDigit(rest[n])) {
				n++
			}
			out = append(out, token{tNum, rest[:n], line})
			i += n
		default:
			out = append(out, token{tPunct, rest[:1], line})
			i++
		}
	}
	return append(out, token{tEnd, "", line}), nil
}

// wordLen is the length of the word at the start of s. "::" belongs to words: .L1::evict_last.
func wordLen(s string) int {
	n := 1
	for n < len(s) {
		switch {
		case isWordStart(s[n]) && s[n] != '%' || isDigit(s[n]):
			n++
		case strings.HasPrefix(s[n:], "::"):
			n += 2
		default:
			return n
		}
	}
	return n
}

// cursor reads tokens.
type cursor struct {
	toks []token
	pos  int
}

func (c *cursor) peek() token { return c.toks[c.pos] }

func (c *cursor) next() token {
	t := c.toks[c.pos]
	if t.kind != tEnd {
		c.pos++
	}
	return t
}

// accept takes the next token if it reads like s.
func (c *cursor) accept(s string) bool {
	if t := c.peek(); t.text == s && t.kind != tStr {
		c.pos++
		return true
	}
	return false
}

func (c *cursor) expect(s string) {
	if t := c.next(); t.text != s {
		c.fail(t, "%q where %q should stand", t.text, s)
	}
}

func (c *cursor) word() string {
	t := c.next()
	if t.kind != tWord {
		c.fail(t, "%q where a name should stand", t.text)
	}
	return t.text
}

// fail leaves the parser; Parse recovers it.
func (c *cursor) fail(t token, format string, args ...any) {
	panic(&Error{Line: t.line, Msg: fmt.Sprintf(format, args...)})
}

func sorted(s []string) []string {
	sort.Strings(s)
	return s
}
