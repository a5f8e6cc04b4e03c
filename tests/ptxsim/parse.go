package ptxsim

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// space is a state space. In code, generic addresses have none.
type space uint8

const (
	sGeneric space = iota
	sGlobal
	sConst
	sShared
	sLocal
	sParam
)

var spaceNames = map[string]space{"global": sGlobal, "const": sConst, "shared": sShared, "shared::cta": sShared, "local": sLocal, "param": sParam}

func (s space) String() string {
	return [...]string{"generic", "global", "const", "shared", "local", "param"}[s]
}

// variable is a named piece of a state space.
type variable struct {
	name        string
	space       space
	size, align int
	offset      int    // in its space; of a .global: in the order of declaration
	init        []byte // .global, .const
	relocs      []reloc
}

// reloc is an address within an initialiser.
type reloc struct {
	at   int
	name string
	add  int64
}

// symbol is what a name means.
type symbol struct {
	reg  int // number of a register, -1 for a variable
	pred bool
	v    *variable
}

// operandKind says what an operand is.
type operandKind uint8

const (
	oReg operandKind = iota
	oNumber
	oName // a variable, a function, a label or a special register
	oList // {a, b} or (a, b)
	oAddr // [base + off]
	oSink // _
	oPair // p|q
)

// operand is an argument of an instruction.
type operand struct {
	kind operandKind
	reg  int
	not  bool // !p
	num  literal
	name string
	off  int64
	list []operand
}

// literal is a number: its bits, as an integer (0), a float (32) or a double (64).
type literal struct {
	bits  uint64
	float int
}

// raw is an instruction before compilation.
type raw struct {
	line   int
	opcode string
	guard  int // register of the predicate, -1 for none
	not    bool
	args   []operand
}

// parser reads a module.
type parser struct {
	cursor
	mod    *Module
	scopes []*scope
}

// scope is a pair of braces, or the module.
type scope struct {
	up     *scope
	names  map[string]symbol
	labels map[string]int
	tables map[string][]string // .branchtargets
}

// Parse reads PTX text.
func Parse(text string) (m *Module, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			m, err = nil, e
		default:
			panic(e)
		}
	}()
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{cursor: cursor{toks: toks}, mod: &Module{funcs: map[string]*function{}, shared: sharedStart}}
	p.push()
	for p.peek().kind != tEnd {
		p.topLevel()
	}
	p.link()
	return p.mod, nil
}

func (p *parser) push() *scope {
	s := &scope{names: map[string]symbol{}, labels: map[string]int{}, tables: map[string][]string{}}
	if len(p.scopes) > 0 {
		s.up = p.scopes[len(p.scopes)-1]
	}
	p.scopes = append(p.scopes, s)
	return s
}

func (p *parser) pop()        { p.scopes = p.scopes[:len(p.scopes)-1] }
func (p *parser) top() *scope { return p.scopes[len(p.scopes)-1] }

func (s *scope) find(name string) (symbol, bool) {
	for ; s != nil; s = s.up {
		if x, ok := s.names[name]; ok {
			return x, true
		}
	}
	return symbol{}, false
}

// topLevel reads one directive of the module.
func (p *parser) topLevel() {
	t := p.next()
	switch t.text {
	case ";":
	case ".version":
		p.mod.Version = p.next().text
	case ".target":
		p.mod.Target = p.word()
		for p.accept(",") {
			p.word()
		}
	case ".address_size":
		if n := p.next(); n.text != "64" {
			p.fail(n, "address size %s: only 64 is known", n.text)
		}
	case ".visible", ".weak", ".extern", ".common":
	case ".entry", ".func":
		p.function(t.text == ".entry")
	case ".global", ".const", ".shared":
		p.variables(spaceNames[t.text[1:]], nil)
	case ".file", ".pragma":
		for n := p.next(); n.line == t.line && n.text != ";" && p.peek().line == t.line; {
			n = p.next()
		}
	default:
		p.fail(t, "unknown directive %q", t.text)
	}
}

// variables reads the declarations behind a state space. Those in a function belong to f.
func (p *parser) variables(sp space, f *function) {
	elem, align, count := 0, 0, 1
	for {
		t := p.next()
		switch {
		case t.text == ".align":
			align = p.integer()
			continue
		case t.text == ".v2" || t.text == ".v4":
			count = int(t.text[2] - '0')
			continue
		case t.text == ".ptr": // of a kernel parameter: says what it points to
			for spaceNames[strings.TrimPrefix(p.peek().text, ".")] != sGeneric || p.peek().text == ".align" {
				if p.next().text == ".align" {
					p.integer()
				}
			}
			continue
		}
		ty, ok := typeNames[strings.TrimPrefix(t.text, ".")]
		if !ok {
			p.fail(t, "unknown type %q", t.text)
		}
		elem = ty.bytes() * count
		if p.peek().text != ".ptr" {
			break
		}
	}
	for {
		v := &variable{name: p.word(), space: sp, size: elem, align: max(align, elem)}
		if align > 0 {
			v.align = align
		}
		unsized := false
		for p.accept("[") {
			if p.accept("]") {
				unsized = true
				continue
			}
			v.size *= p.integer()
			p.expect("]")
		}
		if unsized {
			v.size = 0
		}
		if p.accept("=") {
			p.initialiser(v, elem)
		}
		p.place(v, f, unsized)
		p.top().names[v.name] = symbol{reg: -1, v: v}
		if sp == sParam || !p.accept(",") {
			break
		}
	}
}

// place gives v its offset.
func (p *parser) place(v *variable, f *function, unsized bool) {
	put := func(end *int) {
		*end = alignUp(*end, v.align)
		v.offset = *end
		*end += v.size
	}
	switch v.space {
	case sGlobal, sConst:
		v.offset = len(p.mod.globals)
		p.mod.globals = append(p.mod.globals, v)
	case sShared:
		if unsized {
			v.offset = -1 // behind the static ones, known when all are
			return
		}
		put(&p.mod.shared)
	case sLocal:
		put(&f.local)
	case sParam:
		put(&f.paramBytes)
	}
}

func alignUp(n, a int) int { return (n + a - 1) / a * a }

// initialiser reads = {1, 2, generic(x)+4}.
func (p *parser) initialiser(v *variable, elem int) {
	var items func()
	items = func() {
		if p.accept("{") {
			for !p.accept("}") {
				items()
				p.accept(",")
			}
			return
		}
		at := len(v.init)
		v.init = append(v.init, make([]byte, elem)...)
		var buf [8]byte
		if t := p.peek(); t.kind == tWord {
			name := p.word()
			if name == "generic" {
				p.expect("(")
				name = p.word()
				p.expect(")")
			}
			r := reloc{at: at, name: name}
			if p.accept("+") {
				r.add = int64(p.integer())
			}
			v.relocs = append(v.relocs, r)
			return
		}
		n := p.number()
		if n.float == 64 && elem == 4 {
			n = literal{uint64(f32bits(float32(f64(n.bits)))), 32}
		}
		binary.LittleEndian.PutUint64(buf[:], n.bits)
		copy(v.init[at:], buf[:elem])
	}
	items()
}

func (p *parser) integer() int {
	t := p.peek()
	n := p.number()
	if n.float != 0 {
		p.fail(t, "%q is no integer", t.text)
	}
	return int(n.bits)
}

// number reads -1, 0x1F, 0f3F800000, 0d..., 12U, 1.5.
func (p *parser) number() literal {
	neg := p.accept("-")
	t := p.next()
	if t.kind != tNum {
		p.fail(t, "%q where a number should stand", t.text)
	}
	s := t.text
	low := strings.ToLower(s)
	switch {
	case strings.HasPrefix(low, "0f") && len(s) == 10, strings.HasPrefix(low, "0d") && len(s) == 18:
		bits, err := strconv.ParseUint(s[2:], 16, 64)
		if err != nil {
			p.fail(t, "bad number %q", s)
		}
		width := len(s[2:]) * 4
		if neg {
			bits ^= 1 << (width - 1)
		}
		return literal{bits, width}
	case strings.Contains(s, ".") && !strings.HasPrefix(low, "0x"):
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			p.fail(t, "bad number %q", s)
		}
		if neg {
			f = -f
		}
		return literal{f64bits(f), 64}
	}
	n, err := strconv.ParseUint(strings.TrimRight(low, "u"), 0, 64)
	if err != nil {
		p.fail(t, "bad number %q", s)
	}
	if neg {
		n = -n
	}
	return literal{bits: n}
}
