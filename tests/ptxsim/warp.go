package ptxsim

// Instructions that the lanes of a warp execute together.

var warpTable = map[string]func(*compiler, *mods){"shfl": genShfl, "vote": genVote, "activemask": genActive, "redux": genRedux, "match": genMatch}

// together emits a warp instruction; operand i is its mask.
func (c *compiler) together(i int, f func(lanes []*thread)) {
	c.out.mask = c.src(i, typeNames["b32"])
	c.out.warp = f
}

// genShfl: shfl.sync.mode.b32 d|p, a, b, c, mask.
func genShfl(c *compiler, m *mods) {
	c.count(5)
	c.need(m.has("sync") && c.one(m) == typeNames["b32"])
	mode := m.take("up", "down", "bfly", "idx")
	c.need(mode != "")
	dst, p := c.in.args[0], c.sink()
	if dst.kind == oPair {
		p = c.regOf(dst.list[1])
		dst = dst.list[0]
	}
	d := c.regOf(dst)
	b32 := typeNames["b32"]
	a, b, e := c.src(1, b32), c.src(2, b32), c.src(3, b32)
	c.together(4, func(lanes []*thread) {
		var got [32]uint64
		var ok [32]bool
		for l, t := range lanes {
			if t == nil {
				continue
			}
			var j int
			j, ok[l] = shuffle(mode, l, int(t.r[b]&31), int(t.r[e]&31), int(t.r[e]>>8&31))
			if lanes[j] == nil {
				t.fail("%s: reads lane %d, which is not in the mask", t.in.opcode, j)
			}
			got[l] = zext(lanes[j].r[a], 32)
		}
		for l, t := range lanes {
			if t != nil {
				t.r[p] = b2u(ok[l])
				t.r[d] = got[l]
			}
		}
	})
}

// shuffle is the lane that lane l reads, as the manual computes it, and the predicate.
func shuffle(mode string, l, b, clamp, seg int) (int, bool) {
	least := l & seg
	most := least | clamp&^seg
	var j int
	var ok bool
	switch mode {
	case "up":
		j = l - b
		ok = j >= most
	case "down":
		j = l + b
		ok = j <= most
	case "bfly":
		j = l ^ b
		ok = j <= most
	case "idx":
		j = least | b&^seg
		ok = j <= most
	}
	if !ok {
		j = l
	}
	return j, ok
}

// genVote: vote.sync.mode p, {!}q, mask; ballot gives a mask.
func genVote(c *compiler, m *mods) {
	c.count(3)
	c.need(m.has("sync"))
	c.one(m)
	mode := m.take("all", "any", "uni", "ballot")
	c.need(mode != "")
	d := c.reg(0)
	p, not := c.pred(1)
	c.together(2, func(lanes []*thread) {
		var yes, in uint32
		for l, t := range lanes {
			if t == nil {
				continue
			}
			in |= 1 << l
			if (t.r[p] != 0) != not {
				yes |= 1 << l
			}
		}
		res := map[string]uint64{"all": b2u(yes == in), "any": b2u(yes != 0), "uni": b2u(yes == in || yes == 0), "ballot": uint64(yes)}[mode]
		for _, t := range lanes {
			if t != nil {
				t.r[d] = res
			}
		}
	})
}

// genActive gives the lanes that have not ended: which of them execute together is not defined anyway.
func genActive(c *compiler, m *mods) {
	c.count(1)
	c.one(m)
	d := c.reg(0)
	c.out.run = func(th *thread) {
		x := uint64(0)
		for l, u := range th.warp.lanes {
			if u != nil && u.state != ended {
				x |= 1 << l
			}
		}
		th.r[d] = x
	}
}

// genRedux: redux.sync.op.type d, a, mask.
func genRedux(c *compiler, m *mods) {
	c.count(3)
	c.need(m.has("sync"))
	t := c.one(m)
	op := m.take("add", "min", "max", "and", "or", "xor")
	f := combine(op, t)
	c.need(f != nil && t.bits == 32)
	d, a := c.reg(0), c.src(1, t)
	c.together(2, func(lanes []*thread) {
		var sum uint64
		first := true
		for _, u := range lanes {
			switch {
			case u == nil:
			case first:
				sum, first = zext(u.r[a], 32), false
			default:
				sum = zext(f(sum, u.r[a]), 32)
			}
		}
		for _, u := range lanes {
			if u != nil {
				u.r[d] = sum
			}
		}
	})
}

// genMatch: match.any.sync.b32 d, a, mask: the lanes that have the same value.
func genMatch(c *compiler, m *mods) {
	c.count(3)
	c.need(m.has("sync") && m.has("any"))
	t := c.one(m)
	d, a := c.reg(0), c.src(1, t)
	c.together(2, func(lanes []*thread) {
		var same [32]uint64
		for l, u := range lanes {
			for k, v := range lanes {
				if u != nil && v != nil && zext(u.r[a], t.bits) == zext(v.r[a], t.bits) {
					same[l] |= 1 << k
				}
			}
		}
		for l, u := range lanes {
			if u != nil {
				u.r[d] = same[l]
			}
		}
	})
}

// combine is a reduction on bits of type t; nil if there is none of that name.
func combine(op string, t dtype) func(x, y uint64) uint64 {
	if t.float() {
		f := map[string]func(x, y float64) float64{"add": sumOdd,
			"min": func(x, y float64) float64 { return minNumber(x, y, false) },
			"max": func(x, y float64) float64 { return maxNumber(x, y, false) }}[op]
		if f == nil {
			return nil
		}
		if t.bits == 64 {
			return func(x, y uint64) uint64 {
				if op == "add" {
					return f64bits(f64(x) + f64(y))
				}
				return f64bits(f(f64(x), f64(y)))
			}
		}
		g := (*compiler)(nil).lanewise(t, floatMods{round: "rn"}, func(x []float64) float64 { return f(x[0], x[1]) })
		return func(x, y uint64) uint64 { return g([]uint64{x, y}) }
	}
	switch op {
	case "add":
		return func(x, y uint64) uint64 { return zext(x+y, t.bits) }
	case "and":
		return func(x, y uint64) uint64 { return x & y }
	case "or":
		return func(x, y uint64) uint64 { return x | y }
	case "xor":
		return func(x, y uint64) uint64 { return x ^ y }
	case "min", "max":
		return intMinMax(t, op == "min")
	case "exch":
		return func(x, y uint64) uint64 { return y }
	case "inc": // wraps to 0 behind y
		return func(x, y uint64) uint64 {
			if zext(x, t.bits) >= zext(y, t.bits) {
				return 0
			}
			return x + 1
		}
	case "dec":
		return func(x, y uint64) uint64 {
			if x = zext(x, t.bits); x == 0 || x > zext(y, t.bits) {
				return y
			}
			return x - 1
		}
	}
	return nil
}
