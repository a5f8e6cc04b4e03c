package ptxsim

import "strings"

// function is an entry or a device function.
type function struct {
	name       string
	entry      bool
	line       int
	args, rets []*variable // offsets in the frame's parameter area
	paramBytes int         // formals and the .param variables of calls
	argBytes   int         // of an entry: what a launch must give
	local      int         // bytes of .local
	nregs      int
	pool       []poolEntry // constants: they stand behind the registers
	poolIndex  map[poolEntry]int
	code       []instr
	maxThreads int // .maxntid
	reqBlock   [3]int
}

// poolEntry is a slot of the register file that is filled when a frame is made.
type poolEntry struct {
	kind  poolKind
	value uint64 // a constant, an offset, or the number of a .global
	add   int64
	name  string // of a special register
}

type poolKind uint8

const (
	pConst   poolKind = iota
	pGlobal           // address of a .global or .const
	pDynamic          // address of the dynamic shared array
	pLocal            // address of a .local
	pSpecial          // %tid.x and others that do not change
)

// function reads an entry or a function.
func (p *parser) function(entry bool) {
	f := &function{entry: entry, poolIndex: map[poolEntry]int{}, line: p.peek().line}
	p.push()
	if !entry && p.peek().text == "(" {
		f.rets = p.formals(f)
	}
	f.name = p.word()
	if p.peek().text == "(" {
		f.args = p.formals(f)
	}
	f.argBytes = f.paramBytes
	for strings.HasPrefix(p.peek().text, ".") {
		p.attribute(f)
	}
	if !p.accept(";") { // else it is a declaration
		p.expect("{")
		if old := p.mod.funcs[f.name]; old != nil {
			p.fail(p.peek(), "function %s is defined twice", f.name)
		}
		c := &compiler{p: p, f: f}
		c.body()
		c.finish()
		p.mod.funcs[f.name] = f
	}
	p.pop()
}

// attribute reads .maxntid 128, 1, 1 and the like.
func (p *parser) attribute(f *function) {
	t := p.next()
	n := [3]int{1, 1, 1}
	if t.text != ".noreturn" {
		for i := range n {
			n[i] = p.integer()
			if !p.accept(",") {
				break
			}
		}
	}
	switch t.text {
	case ".maxntid":
		f.maxThreads = n[0] * n[1] * n[2]
	case ".reqntid":
		f.reqBlock = n
	case ".minnctapersm", ".maxnreg", ".maxnctapersm", ".noreturn":
	default:
		p.fail(t, "unknown directive %q", t.text)
	}
}

// formals reads (.param .b32 a, .param .b64 b).
func (p *parser) formals(f *function) []*variable {
	var out []*variable
	p.expect("(")
	for !p.accept(")") {
		p.expect(".param")
		at := p.pos
		p.variables(sParam, f)
		name := ""
		for _, t := range p.toks[at:p.pos] {
			if t.kind == tWord && t.text[0] != '.' {
				name = t.text
			}
		}
		s, _ := p.top().find(name)
		out = append(out, s.v)
		p.accept(",")
	}
	return out
}

// link resolves calls and the offset of the dynamic shared array, and sets every function's constants.
func (p *parser) link() {
	for _, f := range p.mod.funcs {
		for i := range f.code {
			in := &f.code[i]
			if in.callee == "" {
				continue
			}
			in.target = p.mod.funcs[in.callee]
			if in.target == nil {
				panic(&Error{Line: in.line, Msg: "call of " + in.callee + ", which is not defined"})
			}
			if err := in.bindCall(); err != "" {
				panic(&Error{Line: in.line, Msg: err})
			}
		}
	}
}
