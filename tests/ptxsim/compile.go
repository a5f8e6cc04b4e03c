package ptxsim

import (
	"fmt"
	"strings"
)

// instr is a compiled instruction. One of run, warp, barrier and call says what it does.
type instr struct {
	line   int
	guard  int // register of the predicate, -1 for none
	not    bool
	opcode string

	run     func(*thread)
	warp    func(lanes []*thread) // runs once all lanes of the mask are there; lanes[i] is nil for others
	mask    int                   // slot of the mask; -1: all 32 lanes
	barrier bool
	atRest  func(*block) // of a barrier, once everybody is there
	jump    int          // of a branch

	callee             string
	target             *function
	actuals, received  []*variable
	copyIn, copyResult []copySpan
}

// copySpan moves parameters between the frames of a call.
type copySpan struct{ from, to, n int }

// compiler turns the statements of one function into instructions.
type compiler struct {
	p      *parser
	f      *function
	in     *raw
	out    *instr
	base   int // depth of the scopes around the body
	fixups []fixup
}

// fixup is a branch to a label that may stand further down.
type fixup struct {
	at    int
	label string
	scope *scope
	line  int
	set   func(pc int)
}

func (c *compiler) fail(format string, args ...any) {
	line := c.p.peek().line
	if c.in != nil {
		line = c.in.line
	}
	panic(&Error{Line: line, Msg: fmt.Sprintf(format, args...)})
}

// body reads up to the function's closing brace.
func (c *compiler) body() {
	c.countRegs()
	c.base = len(c.p.scopes)
	c.p.push()
	next := 0
	for {
		t := c.p.peek()
		switch {
		case t.kind == tEnd:
			c.fail("function %s has no end", c.f.name)
		case t.text == "}":
			c.p.next()
			c.p.pop()
			if len(c.p.scopes) == c.base {
				return
			}
		case t.text == "{":
			c.p.next()
			c.p.push()
		case t.text == ";":
			c.p.next()
		case t.text == ".reg":
			c.p.next()
			next = c.registers(next)
		case t.text == ".shared" || t.text == ".local" || t.text == ".param" || t.text == ".global" || t.text == ".const":
			c.p.next()
			c.p.variables(spaceNames[t.text[1:]], c.f)
			c.p.expect(";")
		case t.text == ".pragma" || t.text == ".loc":
			for c.p.next(); c.p.peek().line == t.line && c.p.peek().text != "}"; {
				c.p.next()
			}
		case t.kind == tWord && c.p.toks[c.p.pos+1].text == ":":
			c.label()
		default:
			c.statement()
		}
	}
}

// countRegs finds out how many registers the function has: its constants stand behind them.
func (c *compiler) countRegs() {
	depth := 1
	for i := c.p.pos; depth > 0 && c.p.toks[i].kind != tEnd; i++ {
		switch c.p.toks[i].text {
		case "{":
			depth++
		case "}":
			depth--
		case ".reg":
			sub := cursor{toks: c.p.toks, pos: i + 1}
			sub.word()
			for {
				sub.word()
				n := 1
				if sub.accept("<") {
					n = atoi(sub.next().text)
					sub.expect(">")
				}
				c.f.nregs += n
				if !sub.accept(",") {
					break
				}
			}
		}
	}
}

func atoi(s string) int {
	n := 0
	for i := 0; i < len(s) && isDigit(s[i]); i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// registers reads .reg .b32 %r<9>, a; numbers go on from next.
func (c *compiler) registers(next int) int {
	ty := c.p.next()
	t, ok := typeNames[strings.TrimPrefix(ty.text, ".")]
	if !ok {
		c.fail("unknown type %q", ty.text)
	}
	declare := func(name string) {
		c.p.top().names[name] = symbol{reg: next, pred: t.kind == kPred}
		next++
	}
	for {
		name := c.p.word()
		if c.p.accept("<") {
			n := c.p.integer()
			c.p.expect(">")
			for i := range n {
				declare(fmt.Sprintf("%s%d", name, i))
			}
		} else {
			declare(name)
		}
		if !c.p.accept(",") {
			break
		}
	}
	c.p.expect(";")
	return next
}

// label reads "name:", or a table of branch targets behind it.
func (c *compiler) label() {
	name := c.p.word()
	c.p.expect(":")
	if c.p.accept(".branchtargets") {
		var list []string
		for !c.p.accept(";") {
			list = append(list, c.p.word())
			c.p.accept(",")
		}
		c.p.top().tables[name] = list
		return
	}
	if _, ok := c.p.top().labels[name]; ok {
		c.fail("label %s stands twice", name)
	}
	c.p.top().labels[name] = len(c.f.code)
}

// statement reads and compiles one instruction.
func (c *compiler) statement() {
	in := &raw{line: c.p.peek().line, guard: -1}
	c.in = in
	if c.p.accept("@") {
		in.not = c.p.accept("!")
		name := c.p.word()
		s, ok := c.p.top().find(name)
		if !ok || !s.pred {
			c.fail("%s is no predicate", name)
		}
		in.guard = s.reg
	}
	in.opcode = c.p.word()
	for !c.p.accept(";") {
		in.args = append(in.args, c.operand())
		if !c.p.accept(",") {
			c.p.expect(";")
			break
		}
	}
	c.out = &instr{line: in.line, guard: in.guard, not: in.not, opcode: in.opcode, mask: -1}
	m := newMods(in.opcode)
	gen, ok := table[m.name]
	if !ok {
		c.fail("unknown instruction %s", in.opcode)
	}
	gen(c, m)
	if len(m.rest) > 0 {
		c.fail("unknown instruction %s: .%s", in.opcode, strings.Join(m.rest, "."))
	}
	c.f.code = append(c.f.code, *c.out)
	c.in = nil
}

// operand reads one operand.
func (c *compiler) operand() operand {
	p := c.p
	switch t := p.peek(); {
	case t.text == "[":
		p.next()
		o := operand{kind: oAddr, list: []operand{c.operand()}}
		o.off = c.offset()
		p.expect("]")
		return o
	case t.text == "{" || t.text == "(":
		end := map[string]string{"{": "}", "(": ")"}[t.text]
		p.next()
		o := operand{kind: oList}
		for !p.accept(end) {
			o.list = append(o.list, c.operand())
			p.accept(",")
		}
		return o
	case t.text == "!":
		p.next()
		o := c.operand()
		o.not = true
		return o
	case t.kind == tNum || t.text == "-":
		return operand{kind: oNumber, num: p.number()}
	}
	name := p.word()
	o := operand{kind: oName, name: name}
	if s, ok := p.top().find(name); ok && s.reg >= 0 {
		o = operand{kind: oReg, reg: s.reg, name: name}
	} else if name == "_" {
		o.kind = oSink
	}
	if p.accept("|") {
		return operand{kind: oPair, list: []operand{o, c.operand()}}
	}
	if o.kind == oName && p.peek().text == "+" {
		o.off = c.offset()
	}
	return o
}

// offset reads +4 or -4 or +-4 behind an address.
func (c *compiler) offset() int64 {
	sum := int64(0)
	for {
		switch {
		case c.p.accept("+"):
			sum += int64(c.p.integer())
		case c.p.peek().text == "-":
			sum += int64(c.p.integer())
		default:
			return sum
		}
	}
}

// finish resolves branches.
func (c *compiler) finish() {
	for _, x := range c.fixups {
		pc, ok := 0, false
		for s := x.scope; s != nil && !ok; s = s.up {
			pc, ok = s.labels[x.label]
		}
		if !ok {
			panic(&Error{Line: x.line, Msg: "no label " + x.label})
		}
		if x.set != nil {
			x.set(pc)
		} else {
			c.f.code[x.at].jump = pc
		}
	}
}

// constant is the slot of a constant.
func (c *compiler) constant(x uint64) int { return c.poolSlot(poolEntry{value: x}) }

func (c *compiler) poolSlot(e poolEntry) int {
	i, ok := c.f.poolIndex[e]
	if !ok {
		i = len(c.f.pool)
		c.f.poolIndex[e] = i
		c.f.pool = append(c.f.pool, e)
	}
	return c.f.nregs + i
}

// count checks the number of operands.
func (c *compiler) count(n ...int) {
	for _, k := range n {
		if len(c.in.args) == k {
			return
		}
	}
	c.fail("%s with %d operands", c.in.opcode, len(c.in.args))
}

// reg is the register that operand i names.
func (c *compiler) reg(i int) int { return c.regOf(c.in.args[i]) }

func (c *compiler) regOf(o operand) int {
	if o.kind == oSink {
		return c.sink()
	}
	if o.kind != oReg || o.not {
		c.fail("%s: a register should stand where %q stands", c.in.opcode, o.name)
	}
	return o.reg
}

// sink is a slot that nobody reads.
func (c *compiler) sink() int { return c.poolSlot(poolEntry{kind: pSpecial, name: "_"}) }

// src is the slot of operand i as a value of type t.
func (c *compiler) src(i int, t dtype) int { return c.srcOf(c.in.args[i], t) }

func (c *compiler) srcOf(o operand, t dtype) int {
	if o.not {
		c.fail("%s: ! is not expected here", c.in.opcode)
	}
	switch o.kind {
	case oReg:
		return o.reg
	case oNumber:
		return c.constant(c.literal(o.num, t))
	case oName:
		return c.named(o)
	}
	c.fail("%s: unexpected operand", c.in.opcode)
	return 0
}

// literal is a number as bits of type t.
func (c *compiler) literal(n literal, t dtype) uint64 {
	switch {
	case n.float == 0 && t.float() && t.lanes == 1 && n.bits != 0:
		c.fail("%s: an integer where a float should stand", c.in.opcode)
	case n.float == 64 && t.kind == kFloat && t.bits == 32:
		return uint64(f32bits(float32(f64(n.bits))))
	case n.float == 32 && t.kind == kFloat && t.bits == 64:
		return f64bits(float64(f32(n.bits)))
	}
	return n.bits
}

// named is the address of a variable or a special register.
func (c *compiler) named(o operand) int {
	if o.name[0] == '%' || o.name == "WARP_SZ" {
		if !isSpecial(o.name) {
			c.fail("unknown register %s", o.name)
		}
		return c.poolSlot(poolEntry{kind: pSpecial, name: o.name})
	}
	s, ok := c.p.top().find(o.name)
	if !ok {
		c.fail("unknown name %s", o.name)
	}
	v := s.v
	switch {
	case v.space == sGlobal || v.space == sConst:
		return c.poolSlot(poolEntry{kind: pGlobal, value: uint64(v.offset), add: o.off})
	case v.space == sShared && v.offset < 0:
		return c.poolSlot(poolEntry{kind: pDynamic, value: uint64(v.align), add: o.off})
	case v.space == sLocal:
		return c.poolSlot(poolEntry{kind: pLocal, value: uint64(v.offset), add: o.off})
	}
	return c.constant(uint64(int64(v.offset) + o.off))
}

// pred is a predicate operand: its register and whether it is negated.
func (c *compiler) pred(i int) (int, bool) {
	o := c.in.args[i]
	if o.kind == oNumber {
		return c.constant(o.num.bits & 1), o.not
	}
	if o.kind != oReg {
		c.fail("%s: a predicate should stand at operand %d", c.in.opcode, i+1)
	}
	return o.reg, o.not
}

// address is an operand [base + off]: slot and offset.
func (c *compiler) address(i int) (slot int, off uint64) {
	o := c.in.args[i]
	if o.kind != oAddr {
		c.fail("%s: an address should stand at operand %d", c.in.opcode, i+1)
	}
	b := o.list[0]
	b.off += o.off
	if b.kind == oName {
		return c.named(b), 0
	}
	return c.srcOf(b, dtype{kBits, 64, 1}), uint64(o.off)
}
