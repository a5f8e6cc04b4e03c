package syntax

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// integer parses an integer literal. After a minus sign it may be 2^63: it is then the smallest integer
// already, and negating it changes nothing.
func (p *parser) integer(negative bool) Expr {
	i := p.next()
	n := &Int{At: p.span(i), Lit: p.tokenText(i)}
	v, err := strconv.ParseInt(n.Lit, 0, 64)
	switch {
	case err == nil && !isOldOctal(n.Lit):
		n.Value = v
	case negative && isMinInt64(n.Lit):
		n.Value = math.MinInt64
	default:
		p.badNumber(n.At, n.Lit, err)
	}
	return n
}

func isMinInt64(lit string) bool {
	v, err := strconv.ParseUint(lit, 0, 64)
	return err == nil && v == 1<<63 && !isOldOctal(lit)
}

// isOldOctal recognises 0777, which means different things in different languages.
func isOldOctal(lit string) bool {
	return len(lit) > 1 && lit[0] == '0' && (isDigit(lit[1]) || lit[1] == '_') && strings.Trim(lit, "0_") != ""
}

func (p *parser) badNumber(at source.Span, lit string, err error) {
	tail := strings.ToLower(lit[len(lit)-1:])
	switch ne, _ := err.(*strconv.NumError); {
	case ne != nil && ne.Err == strconv.ErrRange:
		p.errorf(diag.BadNumber, at, "%s does not fit into 64 bits", lit)
	case isOldOctal(lit) && !strings.ContainsAny(lit, "jJ"):
		digits := strings.TrimLeft(lit, "0_")
		p.errorf(diag.BadNumber, at, "%s starts with 0 but is not 0x, 0o or 0b", lit).
			Fix(at, digits, "write %s if it is decimal", digits)
	case tail == "j" && strings.Trim(lit[:len(lit)-1], "0123456789_.eE+-") == "":
		p.errorf(diag.NotInLanguage, at, "a complex number is not in the kernel language").
			Help("keep real and imaginary parts in tensors of their own")
	default:
		p.errorf(diag.BadNumber, at, "%s is not a number", lit)
	}
}

func (p *parser) float() Expr {
	i := p.next()
	n := &Float{At: p.span(i), Lit: p.tokenText(i)}
	v, err := strconv.ParseFloat(strings.ReplaceAll(n.Lit, "_", ""), 64)
	switch {
	case err != nil && math.IsInf(v, 0):
		p.errorf(diag.BadNumber, n.At, "%s does not fit into a double", n.Lit)
	case err != nil || !underscoresBetweenDigits(n.Lit):
		p.badNumber(n.At, n.Lit, nil)
	}
	n.Value = v
	return n
}

func underscoresBetweenDigits(lit string) bool {
	for i := range len(lit) {
		if lit[i] == '_' && (i == 0 || i+1 == len(lit) || !isDigit(lit[i-1]) || !isDigit(lit[i+1])) {
			return false
		}
	}
	return true
}

// str parses adjacent string literals, which are one string.
func (p *parser) str() Expr {
	start := p.pos
	n := &Str{Pieces: make([]string, 0, 1)}
	for p.kind() == kString {
		i := p.next()
		lit := strings.ReplaceAll(p.tokenText(i), "\r\n", "\n")
		n.Pieces = append(n.Pieces, lit)
		n.Value += p.unquote(n, i, lit)
	}
	n.At = p.since(start)
	return n
}

// unquote evaluates one literal.
func (p *parser) unquote(n *Str, i int, lit string) string {
	raw := false
	body := strings.TrimLeft(lit, "rRbBfFuU")
	for _, c := range strings.ToLower(lit[:len(lit)-len(body)]) {
		switch c {
		case 'r':
			raw = true
		case 'b':
			n.Bytes = true
		case 'f':
			n.Format = true
		}
	}
	quote := body[:1]
	if strings.HasPrefix(body, strings.Repeat(quote, 3)) {
		quote = body[:3]
	}
	// A literal that was never closed has been reported.
	body = strings.TrimPrefix(body, quote)
	body = strings.TrimSuffix(body, quote)
	if raw || n.Format || strings.IndexByte(body, '\\') < 0 {
		return body
	}
	return p.unescape(i, body)
}

var simpleEscapes = map[byte]string{
	'\\': "\\", '\'': "'", '"': "\"", 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t",
	'v': "\v", '\n': "",
}

var hexEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape replaces escapes with what they mean. As in Python, a backslash before any other character
// stands for itself.
func (p *parser) unescape(i int, s string) string {
	var b strings.Builder
	for {
		j := strings.IndexByte(s, '\\')
		if j < 0 || j+1 == len(s) {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:j])
		s = s[j+1:]
		c := s[0]
		if out, ok := simpleEscapes[c]; ok {
			b.WriteString(out)
			s = s[1:]
		} else if digits := hexEscapes[c]; digits > 0 {
			s = p.hexEscape(&b, i, s, digits)
		} else if c >= '0' && c <= '7' {
			n := 1
			for n < 3 && n < len(s) && s[n] >= '0' && s[n] <= '7' {
				n++
			}
			v, _ := strconv.ParseUint(s[:n], 8, 32)
			b.WriteRune(rune(v))
			s = s[n:]
		} else {
			b.WriteByte('\\')
		}
	}
}

func (p *parser) hexEscape(b *strings.Builder, i int, s string, digits int) (rest string) {
	end := 1
	for end <= digits && end < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[end]) >= 0 {
		end++
	}
	v, err := strconv.ParseUint(s[1:end], 16, 32)
	if end <= digits || err != nil {
		p.errorf(diag.BadEscape, p.span(i), `\%c needs %d hexadecimal digits`, s[0], digits)
	} else if v > utf8.MaxRune {
		p.errorf(diag.BadEscape, p.span(i), `\%s is beyond the last character`, s[:end])
	} else {
		b.WriteRune(rune(v))
	}
	return s[end:]
}
