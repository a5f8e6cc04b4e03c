package ptxsim

var controlTable = map[string]func(*compiler, *mods){
	"bra": genBra, "brx": genBrx, "call": genCall, "ret": genRet, "exit": genExit, "trap": genTrap,
	"nanosleep": genSleep, "pmevent": genNothing,
}

func genBra(c *compiler, m *mods) {
	c.count(1)
	m.has("uni")
	c.fixups = append(c.fixups, fixup{at: len(c.f.code), label: c.in.args[0].name, scope: c.p.top(), line: c.in.line})
	f, at := c.f, len(c.f.code)
	c.out.run = func(th *thread) { th.pc = f.code[at].jump }
}

// genBrx jumps to an entry of a table.
func genBrx(c *compiler, m *mods) {
	c.count(2)
	m.has("idx")
	m.has("uni")
	i := c.src(0, typeNames["u32"])
	var names []string
	for s := c.p.top(); s != nil && names == nil; s = s.up {
		names = s.tables[c.in.args[1].name]
	}
	if names == nil {
		c.fail("no table of branch targets %s", c.in.args[1].name)
	}
	to := make([]int, len(names))
	for k, n := range names {
		c.fixups = append(c.fixups, fixup{label: n, scope: c.p.top(), line: c.in.line, set: func(pc int) { to[k] = pc }})
	}
	c.out.run = func(th *thread) {
		k := zext(th.r[i], 32)
		if k >= uint64(len(to)) {
			th.fail("branch %d of a table of %d", k, len(to))
		}
		th.pc = to[k]
	}
}

// genCall: call (results), f, (arguments); the names are .param variables.
func genCall(c *compiler, m *mods) {
	m.has("uni")
	args := c.in.args
	if len(args) > 0 && args[0].kind == oList {
		c.out.received = c.params(args[0])
		args = args[1:]
	}
	if len(args) == 0 || args[0].kind != oName || len(args) > 2 {
		c.fail("this form of call is not known")
	}
	c.out.callee = args[0].name
	if len(args) == 2 {
		c.out.actuals = c.params(args[1])
	}
	f, at := c.f, len(c.f.code)
	c.out.run = func(th *thread) { th.call(&f.code[at]) }
}

func (c *compiler) params(list operand) []*variable {
	var out []*variable
	for _, o := range list.list {
		s, ok := c.p.top().find(o.name)
		if !ok || s.v == nil || s.v.space != sParam {
			c.fail("%q is no parameter", o.name)
		}
		out = append(out, s.v)
	}
	return out
}

// bindCall matches the parameters of a call with those of what it calls.
func (in *instr) bindCall() string {
	span := func(from, to []*variable) ([]copySpan, bool) {
		var out []copySpan
		for i := range from {
			if i >= len(to) || from[i].size != to[i].size {
				return nil, false
			}
			out = append(out, copySpan{from[i].offset, to[i].offset, from[i].size})
		}
		return out, len(from) == len(to)
	}
	var ok1, ok2 bool
	in.copyIn, ok1 = span(in.actuals, in.target.args)
	in.copyResult, ok2 = span(in.target.rets, in.received)
	if !ok1 || !ok2 {
		return "the parameters of the call do not fit " + in.callee
	}
	return ""
}

func genRet(c *compiler, m *mods) {
	m.has("uni")
	c.out.run = func(th *thread) { th.leave() }
}

func genExit(c *compiler, m *mods) { c.out.run = func(th *thread) { th.end() } }

func genTrap(c *compiler, m *mods) { c.out.run = func(th *thread) { th.fail("trap") } }

func genSleep(c *compiler, m *mods) {
	c.count(1)
	c.one(m)
	c.out.run = func(th *thread) { th.yield = true }
}
