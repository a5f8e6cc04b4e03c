package tensor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// header is what the text before the elements says.
type header struct {
	descr   string
	fortran bool
	shape   []int64
}

// readHeader also returns how many bytes it took.
func readHeader(r io.Reader) (h header, used int64, err error) {
	var fixed [12]byte
	if _, err := io.ReadFull(r, fixed[:10]); err != nil {
		return h, 0, fmt.Errorf("not a .npy file: it ends before its header (%w)", err)
	}
	if !bytes.Equal(fixed[:6], magic) {
		return h, 0, fmt.Errorf("not a .npy file: expected it to begin with %q, found %q", magic, fixed[:6])
	}
	used = 10
	n := int64(le.Uint16(fixed[8:]))
	switch version := fixed[6]; version {
	case 1:
	case 2, 3: // a length of 4 bytes
		if _, err := io.ReadFull(r, fixed[10:12]); err != nil {
			return h, 0, fmt.Errorf("truncated header: %w", err)
		}
		used, n = 12, int64(le.Uint32(fixed[8:]))
	default:
		return h, 0, fmt.Errorf("expected .npy version 1, 2 or 3, found %d.%d", version, fixed[7])
	}
	if n > maxHeader {
		return h, 0, fmt.Errorf("the header claims %d bytes; expected at most %d", n, maxHeader)
	}
	text := make([]byte, n)
	if got, err := io.ReadFull(r, text); err != nil {
		return h, 0, fmt.Errorf("truncated header: expected %d bytes, found %d", n, got)
	}
	h, err = parseHeader(string(text))
	if err != nil {
		err = fmt.Errorf("bad header: %w", err)
	}
	return h, used + n, err
}

// parseHeader reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), },
// its keys in any order.
func parseHeader(text string) (header, error) {
	p := &headerParser{rest: text}
	var h header
	seen := map[string]bool{}
	p.expect('{')
	for p.err == nil && !p.accept('}') {
		key := p.quoted()
		p.expect(':')
		switch key {
		case "descr":
			h.descr = p.quoted()
		case "fortran_order":
			h.fortran = p.boolean()
		case "shape":
			h.shape = p.shape()
		default:
			p.fail("descr, fortran_order or shape", key)
		}
		if seen[key] {
			p.fail("each key once", key)
		}
		seen[key] = true
		if !p.accept(',') {
			p.expect('}')
			break
		}
	}
	if p.err == nil && len(seen) != 3 {
		p.err = errors.New("expected the keys descr, fortran_order and shape")
	}
	if p.err == nil && strings.TrimRight(p.rest, " \n\x00") != "" {
		p.fail("nothing after the closing brace", p.rest)
	}
	return h, p.err
}

// headerParser keeps the first error; after it, everything is a no-op.
type headerParser struct {
	rest string
	err  error
}

func (p *headerParser) fail(want, found string) {
	if p.err == nil {
		p.err = fmt.Errorf("expected %s, found %.40q", want, found)
	}
}

func (p *headerParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *headerParser) accept(c byte) bool {
	p.skip()
	if p.err != nil || p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *headerParser) expect(c byte) {
	if !p.accept(c) {
		p.fail(fmt.Sprintf("%q", c), p.rest)
	}
}

func (p *headerParser) quoted() string {
	p.skip()
	if p.err != nil {
		return ""
	}
	if p.rest != "" && (p.rest[0] == '\'' || p.rest[0] == '"') {
		if s, rest, ok := strings.Cut(p.rest[1:], p.rest[:1]); ok {
			p.rest = rest
			return s
		}
	}
	if strings.HasPrefix(p.rest, "[") {
		p.err = errors.New("expected an array of numbers, found an array of records")
	}
	p.fail("a quoted word", p.rest)
	return ""
}

func (p *headerParser) boolean() bool {
	p.skip()
	for _, w := range []string{"True", "False"} {
		if rest, ok := strings.CutPrefix(p.rest, w); ok {
			p.rest = rest
			return w == "True"
		}
	}
	p.fail("True or False", p.rest)
	return false
}

// maxDims is NumPy's.
const maxDims = 64

func (p *headerParser) shape() []int64 {
	shape := []int64{}
	p.expect('(')
	for p.err == nil && !p.accept(')') {
		p.skip()
		end := strings.IndexFunc(p.rest, func(c rune) bool { return (c < '0' || c > '9') && c != '-' })
		if end < 0 {
			end = len(p.rest)
		}
		n, err := strconv.ParseInt(p.rest[:end], 10, 64)
		if err != nil || n < 0 || len(shape) == maxDims {
			p.fail("at most 64 dims from 0 to 2^63-1", p.rest)
			break
		}
		shape = append(shape, n)
		p.rest = strings.TrimPrefix(p.rest[end:], "L") // Python 2 wrote 3L
		if !p.accept(',') {
			p.expect(')')
			break
		}
	}
	return shape
}
