package ir

import (
	"math"
	"strconv"
	"strings"
)

// Print writes a module in the surface syntax; the parser and checker read it back equal. The text
// depends on the structure and the name hints alone.
func Print(m *Module) string {
	p := &printer{reserved: reservedNames(m)}
	for _, s := range usedSyms(m) {
		p.text(s, " = pl.dynamic(", quote(s), ")\n")
	}
	for i, f := range m.Funcs {
		if i > 0 || len(p.buf) > 0 {
			p.text("\n")
		}
		p.fn(f)
	}
	return string(p.buf)
}

// PrintFunc writes one function.
func PrintFunc(f *Func) string {
	p := &printer{reserved: reservedNames(&Module{Funcs: []*Func{f}, Syms: f.DimSyms()})}
	p.fn(f)
	return string(p.buf)
}

// usedSyms are the symbols that occur, in order of declaration, undeclared ones last.
func usedSyms(m *Module) []string {
	used := map[string]bool{}
	for _, f := range m.Funcs {
		for _, s := range f.DimSyms() {
			used[s] = true
		}
	}
	var out []string
	for _, s := range m.Syms {
		if used[s] {
			out = append(out, s)
			delete(used, s)
		}
	}
	return append(out, sortedKeys(used)...)
}

type printer struct {
	buf      []byte
	depth    int
	reserved map[string]bool
	names    *namer
}

func (p *printer) text(parts ...string) {
	for _, s := range parts {
		p.buf = append(p.buf, s...)
	}
}

const spaces = "                                                                "

// line starts a new line.
func (p *printer) line() {
	for n := p.depth * 4; n > 0; n -= len(spaces) {
		p.text(spaces[:min(n, len(spaces))])
	}
}

func (p *printer) name(v *Value) string { return p.names.of(v) }

func (p *printer) fn(f *Func) {
	p.names = nameValues(f, p.reserved)
	switch f.Kind {
	case Chip:
		p.text("@pl.jit\n")
	case Golden:
		p.text("@pl.golden(of=", f.GoldenOf, ")\n")
	default:
		p.text("@pl.jit.", f.Kind.String(), "\n")
	}
	p.text("def ", f.Name, "(")
	for i, v := range f.Params() {
		if i > 0 {
			p.text(", ")
		}
		t := TypeText(v.Type, p.name)
		if i < len(f.Dirs) && f.Dirs[i] != In {
			t = "pl." + f.Dirs[i].String() + "[" + t + "]"
		}
		p.text(p.name(v), ": ", t)
	}
	p.text("):\n")
	p.depth++
	attr := p.arena(f)
	p.block(f.Body, nil, attr)
	p.depth--
}

// arena prints what PlanMemory decided; it reports whether it printed anything.
func (p *printer) arena(f *Func) bool {
	if f.Arena == nil {
		return false
	}
	p.line()
	p.text(`pl.func_attr({"arena_bytes": `, f.Arena.Text(p.name), `, "arena": {`)
	first := true
	EachValue(f, func(v *Value) {
		if v.Arena == nil {
			return
		}
		if !first {
			p.text(", ")
		}
		first = false
		p.text(quote(p.name(v)), ": ", v.Arena.Text(p.name))
	})
	p.text("}})\n")
	return true
}

// block prints the ops of b. targets are what its yield assigns to. An empty block is a pass, unless
// something was printed before it.
func (p *printer) block(b *Block, targets []*Value, nonEmpty bool) {
	n := 0
	for _, op := range b.Ops {
		if op.Kind == Yield && len(op.Vals("values")) == 0 {
			continue
		}
		n++
		p.line()
		if op.Kind == Yield {
			p.results(targets)
			p.text("pl.yield_(")
			p.list(op.Vals("values"))
			p.text(")\n")
			continue
		}
		p.op(op)
	}
	if n == 0 && !nonEmpty {
		p.line()
		p.text("pass\n")
	}
}

func (p *printer) results(vs []*Value) {
	for i, v := range vs {
		if i > 0 {
			p.text(", ")
		}
		p.text(p.name(v))
	}
	if len(vs) > 0 {
		p.text(" = ")
	}
}

func (p *printer) list(vs []*Value) {
	for i, v := range vs {
		if i > 0 {
			p.text(", ")
		}
		p.val(v)
	}
}

// tuple prints (a,) or (a, b).
func (p *printer) tuple(vs []*Value) {
	p.text("(")
	p.list(vs)
	if len(vs) == 1 {
		p.text(",")
	}
	p.text(")")
}

func (p *printer) op(op *Op) {
	switch op.Kind {
	case For:
		p.forLoop(op)
	case While:
		p.header(op, 0)
		p.text("pl.while_(")
		p.inits(op, false)
		p.text("):\n")
		p.region(op, 0, op.Results)
	case If:
		p.ifElse(op)
	case Fused:
		p.fused(op)
	case CommDomain:
		p.text("with pld.comm_domain(", quote(op.Str("name")))
		if op.Arg("devices").Given() {
			p.text(", [")
			p.list(op.Vals("devices"))
			p.text("]")
		}
		p.text("):\n")
		p.region(op, 0, nil)
	case Return:
		p.text("return")
		if vs := op.Vals("values"); len(vs) > 0 {
			p.text(" ")
			p.list(vs)
		}
		p.text("\n")
	case Call:
		p.results(op.Results)
		p.call(op)
	default:
		p.results(op.Results)
		p.expr(op)
		p.text("\n")
	}
}

func (p *printer) call(op *Op) {
	name := "undefined"
	if f := op.Callee(); f != nil {
		name = f.Name
	}
	p.text(name, "(")
	p.list(op.Vals("args"))
	if d := op.Val("device"); d != nil {
		if len(op.Vals("args")) > 0 {
			p.text(", ")
		}
		p.text("device=")
		p.val(d)
	}
	p.text(")\n")
}

// header prints "for i, (a, b) in ": the region's first n arguments by themselves, the carried ones
// as a tuple.
func (p *printer) header(op *Op, n int) {
	args := op.Regions[0].Args
	p.text("for ")
	for i := 0; i < n && i < len(args); i++ {
		p.text(p.name(args[i]))
	}
	if rest := args[min(n, len(args)):]; len(rest) > 0 {
		if n > 0 {
			p.text(", ")
		}
		p.tuple(rest)
	} else if n == 0 {
		p.text("_")
	}
	p.text(" in ")
}

func (p *printer) inits(op *Op, more bool) {
	if vs := op.Vals("init_values"); len(vs) > 0 {
		if more {
			p.text(", ")
		}
		p.text("init_values=")
		p.tuple(vs)
	}
}

func (p *printer) forLoop(op *Op) {
	p.header(op, 1)
	p.text("pl.", LoopKind.Values[op.Enum("kind").Value], "(")
	start, step := op.Val("start"), op.Val("step")
	if !isIndexConst(step, 1) {
		p.list([]*Value{start, op.Val("stop"), step})
	} else if !isIndexConst(start, 0) {
		p.list([]*Value{start, op.Val("stop")})
	} else {
		p.val(op.Val("stop"))
	}
	p.inits(op, true)
	if s := op.Int("stage"); s != 1 {
		p.text(", stage=", strconv.FormatInt(s, 10))
	}
	p.text("):\n")
	p.region(op, 0, op.Results)
}

func isIndexConst(v *Value, n int64) bool {
	return v != nil && v.IsConst() && DTypeOf(v.Type) == INDEX && v.Const.Dim.Is(n)
}

func (p *printer) ifElse(op *Op) {
	p.text("if ")
	p.val(op.Val("cond"))
	p.text(":\n")
	p.region(op, 0, op.Results)
	if len(op.Regions) > 1 && !emptyBlock(op.Regions[1]) {
		p.line()
		p.text("else:\n")
		p.region(op, 1, op.Results)
	}
}

// emptyBlock: no ops, or only a yield of nothing.
func emptyBlock(b *Block) bool {
	return len(b.Ops) == 0 || len(b.Ops) == 1 && b.Ops[0].Kind == Yield && len(b.Ops[0].Vals("values")) == 0
}

func (p *printer) fused(op *Op) {
	p.header(op, 0)
	p.text("pl.fused(ins=")
	p.tuple(op.Vals("ins"))
	p.text(", outs=")
	p.tuple(op.Vals("outs"))
	p.text(", shape=[")
	p.list(op.Vals("shape"))
	p.text("]")
	if op.Arg("cap").Given() {
		p.text(", cap=[")
		p.list(op.Vals("cap"))
		p.text("]")
	}
	if op.Bool("stream") {
		p.text(", stream=True")
	}
	p.text("):\n")
	p.region(op, 0, op.Results)
}

func (p *printer) region(op *Op, i int, targets []*Value) {
	p.depth++
	if i < len(op.Regions) {
		p.block(op.Regions[i], targets, false)
	}
	p.depth--
}

var cmpInfix = []string{"==", "!=", "<", "<=", ">", ">="}

// foldable reports whether an op that stays, because it does not fold, would be the front end's
// constant arithmetic if it were written with an operator: that has rules of its own.
func foldable(op *Op) bool {
	x, y := op.Args[0].Vals[0].IsConst(), op.Args[1].Vals[0].IsConst()
	if op.Kind == LogicalAnd || op.Kind == LogicalOr {
		return x || y
	}
	return x && y
}

// expr prints an op that is one expression.
func (p *printer) expr(op *Op) {
	infix := op.Kind.Infix
	if op.Kind == Cmp {
		infix = cmpInfix[op.Enum("cmp_type").Value]
	}
	if infix != "" && !foldable(op) {
		p.infixVal(op.Args[0].Vals[0])
		p.text(" ", infix, " ")
		p.infixVal(op.Args[1].Vals[0])
		return
	}
	p.text(op.Kind.Name, "(")
	first := true
	for i := range op.Kind.Params {
		param, a := &op.Kind.Params[i], op.Args[i]
		if !a.Given() || param.Kind.IsAttr() && param.Optional && a.Attr == param.Default {
			continue
		}
		if !first {
			p.text(", ")
		}
		first = false
		if param.Optional || param.KwOnly {
			p.text(param.Name, "=")
		}
		p.arg(param, a)
	}
	p.text(")")
}

func (p *printer) arg(param *Param, a Arg) {
	switch {
	case param.Kind.IsAttr():
		p.text(attrText(a.Attr))
	case param.Kind.IsList():
		p.text("[")
		p.list(a.Vals)
		p.text("]")
	case len(a.Vals) == 1:
		p.val(a.Vals[0])
	default: // only in broken IR
		p.tuple(a.Vals)
	}
}

func attrText(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return floatText(v)
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return quote(v)
	case DType:
		return "pl." + v.String()
	case Enum:
		return v.String()
	case *Func:
		return v.Name
	}
	return "None"
}

// infixVal prints an operand of an infix operator: sums and products in parentheses.
func (p *printer) infixVal(v *Value) {
	if v.IsConst() && DTypeOf(v.Type) == INDEX {
		_, sym := v.Const.Dim.Sym()
		if n, ok := v.Const.Dim.Const(); !sym && !(ok && n >= 0) {
			p.text("(")
			p.val(v)
			p.text(")")
			return
		}
	}
	p.val(v)
}

// val prints a value where an expression may stand.
func (p *printer) val(v *Value) {
	if v == nil {
		p.text("None")
		return
	}
	if !v.IsConst() {
		p.text(p.name(v))
		return
	}
	switch dt := DTypeOf(v.Type); {
	case dt == INDEX:
		if n, ok := v.Const.Dim.Const(); ok {
			p.buf = strconv.AppendInt(p.buf, n, 10)
		} else {
			p.text(v.Const.Dim.Text(p.name))
		}
	case dt == BOOL:
		p.text(attrText(v.Const.B))
	case dt.IsInt():
		p.text("pl.const(", v.Const.Dim.Text(p.name), ", pl.", dt.String(), ")")
	case math.IsNaN(v.Const.F) || math.IsInf(v.Const.F, 0):
		s := map[bool]string{true: "nan", false: "inf"}[math.IsNaN(v.Const.F)]
		if math.IsInf(v.Const.F, -1) {
			s = "-inf"
		}
		p.text(`pl.const("`, s, `", pl.`, dt.String(), ")")
	case dt == FP32:
		p.text(floatText(v.Const.F))
	default:
		p.text("pl.const(", floatText(v.Const.F), ", pl.", dt.String(), ")")
	}
}

// floatText is the shortest text that is f again, with a point or exponent.
func floatText(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 32)
	if g, err := strconv.ParseFloat(s, 64); err != nil || float64(float32(g)) != f {
		s = strconv.FormatFloat(f, 'g', -1, 64)
	}
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// quote writes a string literal that Python and Go read alike.
func quote(s string) string {
	const hex = "0123456789abcdef"
	b := []byte{'"'}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}
