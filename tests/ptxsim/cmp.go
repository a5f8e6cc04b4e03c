package ptxsim

import "math"

var cmpTable = map[string]func(*compiler, *mods){"setp": genSetp, "set": genSet}

// comparison compiles a comparison of two registers.
func (c *compiler) comparison(m *mods, t dtype) func(x, y uint64) bool {
	op := m.take("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
	ftz := m.has("ftz")
	if t.float() {
		if f, ok := floatCmp[op]; ok && t.lanes == 1 {
			return func(x, y uint64) bool {
				a, b := decodeFloat(t, x), decodeFloat(t, y)
				if ftz {
					a, b = flush(a), flush(b)
				}
				return f(a, b)
			}
		}
		c.fail("unknown instruction %s", c.in.opcode)
	}
	if as, ok := map[string]string{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[op]; ok {
		op, t.kind = as, kUint
	}
	f, ok := intCmp[op]
	if !ok || t.kind == kPred {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	signed := t.kind == kInt
	return func(x, y uint64) bool {
		x, y = t.read(x), t.read(y)
		if signed { // flip the sign bits: unsigned order is then the signed one
			x, y = x^1<<63, y^1<<63
		}
		return f(x, y)
	}
}

var intCmp = map[string]func(x, y uint64) bool{
	"eq": func(x, y uint64) bool { return x == y }, "ne": func(x, y uint64) bool { return x != y },
	"lt": func(x, y uint64) bool { return x < y }, "le": func(x, y uint64) bool { return x <= y },
	"gt": func(x, y uint64) bool { return x > y }, "ge": func(x, y uint64) bool { return x >= y },
}

// floatCmp: those that end in u are true when an operand is NaN, the others false (ne too).
var floatCmp = map[string]func(x, y float64) bool{
	"eq": func(x, y float64) bool { return x == y }, "ne": func(x, y float64) bool { return x < y || x > y },
	"lt": func(x, y float64) bool { return x < y }, "le": func(x, y float64) bool { return x <= y },
	"gt": func(x, y float64) bool { return x > y }, "ge": func(x, y float64) bool { return x >= y },
	"equ": func(x, y float64) bool { return !(x < y || x > y) }, "neu": func(x, y float64) bool { return x != y },
	"ltu": func(x, y float64) bool { return !(x >= y) }, "leu": func(x, y float64) bool { return !(x > y) },
	"gtu": func(x, y float64) bool { return !(x <= y) }, "geu": func(x, y float64) bool { return !(x < y) },
	"num": func(x, y float64) bool { return !math.IsNaN(x) && !math.IsNaN(y) },
	"nan": func(x, y float64) bool { return math.IsNaN(x) || math.IsNaN(y) },
}

var boolOps = map[string]func(a, b bool) bool{
	"and": func(a, b bool) bool { return a && b }, "or": func(a, b bool) bool { return a || b },
	"xor": func(a, b bool) bool { return a != b }, "": func(a, b bool) bool { return a },
}

// genSetp: p|q = a cmp b, and its negation, each joined with c.
func genSetp(c *compiler, m *mods) {
	t := c.one(m)
	join := m.take("and", "or", "xor")
	cmp, op := c.comparison(m, t), boolOps[join]
	third, not := c.sink(), false
	if join != "" {
		c.count(4)
		third, not = c.pred(3)
	} else {
		c.count(3)
	}
	p, q := c.in.args[0], c.sink()
	if p.kind == oPair {
		q = c.regOf(p.list[1])
		p = p.list[0]
	}
	d, a, b := c.regOf(p), c.src(1, t), c.src(2, t)
	if join == "" {
		c.out.run = func(th *thread) {
			r := cmp(th.r[a], th.r[b])
			th.r[q] = b2u(!r)
			th.r[d] = b2u(r)
		}
		return
	}
	c.out.run = func(th *thread) {
		r, e := cmp(th.r[a], th.r[b]), (th.r[third] != 0) != not
		th.r[q] = b2u(op(!r, e))
		th.r[d] = b2u(op(r, e))
	}
}

// genSet gives all ones (integers) or 1.0 (FP32).
func genSet(c *compiler, m *mods) {
	ts := m.dtypes()
	if len(ts) != 2 {
		c.fail("unknown instruction %s", c.in.opcode)
	}
	cmp := c.comparison(m, ts[1])
	yes := zext(math.MaxUint64, ts[0].bits)
	if ts[0].float() {
		yes = ts[0].format().encode(1, "rn")
	}
	c.binary(ts[1], func(x, y uint64) uint64 {
		if cmp(x, y) {
			return yes
		}
		return 0
	})
}
