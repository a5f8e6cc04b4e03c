package ptxsim

import "slices"

// Matrix instructions of a warp. The layouts are those of the PTX manual's figures: groupID = lane/4,
// threadID_in_group = lane%4.

var mmaTable = map[string]func(*compiler, *mods){"mma": genMma, "ldmatrix": genLdmatrix}

// fragment is how a matrix lies in the registers of a warp.
type fragment struct {
	elem dtype
	regs int                                    // of a thread
	at   func(group, inGroup, i int) (r, c int) // element i of a thread
}

// perReg is the number of elements in a register.
func (f fragment) perReg() int { return max(1, 32/f.elem.bits) }

// gather reads a matrix from registers.
func (f fragment) gather(lanes []*thread, regs []int, rows, cols int) []float64 {
	out := make([]float64, rows*cols)
	for l, t := range lanes {
		for i := range f.regs * f.perReg() {
			x := t.r[regs[i/f.perReg()]] >> (i % f.perReg() * f.elem.bits)
			r, c := f.at(l/4, l%4, i)
			out[r*cols+c] = f.value(zext(x, f.elem.bits))
		}
	}
	return out
}

func (f fragment) value(x uint64) float64 {
	switch f.elem.kind {
	case kTF32: // the low 13 bits are not looked at
		return float64(f32(x &^ 0x1fff))
	case kInt:
		return float64(sext(x, f.elem.bits))
	case kUint:
		return float64(x)
	}
	return f.elem.format().decode(x)
}

func (f fragment) bits(x float64) uint64 {
	if f.elem.kind == kInt {
		return uint64(uint32(int32(int64(x)))) // wraps
	}
	return f.elem.format().encode(x, "rn")
}

// scatter writes a matrix to registers.
func (f fragment) scatter(lanes []*thread, regs []int, cols int, m []float64) {
	for l, t := range lanes {
		for i, d := range regs {
			x := uint64(0)
			for k := range f.perReg() {
				r, c := f.at(l/4, l%4, i*f.perReg()+k)
				x |= f.bits(m[r*cols+c]) << (k * f.elem.bits)
			}
			t.r[d] = x
		}
	}
}

// Rows of C and D, and of A with two elements a register: the upper half of a thread's elements, in
// pairs, lies 8 rows further down.
func atC(g, t, i int) (int, int) { return g + 8*(i/2), 2*t + i%2 }

func at16A(g, t, i int) (int, int) { return g + 8*(i/2%2), 2*t + i%2 + 8*(i/4) }
func at16B(g, t, i int) (int, int) { return 2*t + i%2 + 8*(i/2), g }
func at32A(g, t, i int) (int, int) { return g + 8*(i%2), t + 4*(i/2) }
func at32B(g, t, i int) (int, int) { return t + 4*i, g }
func at8A(g, t, i int) (int, int)  { return g + 8*(i/4%2), 4*t + i%4 + 16*(i/8) }
func at8B(g, t, i int) (int, int)  { return 4*t + i%4 + 16*(i/4), g }

// mmaShape is m16n8k with its fragments of A and B; they differ by the width of an element only.
type mmaShape struct {
	k            int
	aRegs, bRegs int
	a, b         func(g, t, i int) (int, int)
}

var mmaShapes = map[int]map[string]mmaShape{
	16: {"m16n8k8": {8, 2, 1, at16A, at16B}, "m16n8k16": {16, 4, 2, at16A, at16B}},
	32: {"m16n8k4": {4, 2, 1, at32A, at32B}, "m16n8k8": {8, 4, 2, at32A, at32B}},
	8:  {"m16n8k16": {16, 2, 1, at8A, at8B}, "m16n8k32": {32, 4, 2, at8A, at8B}},
}

// genMma: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c.
func genMma(c *compiler, m *mods) {
	c.count(4)
	ts := m.dtypes()
	c.need(m.has("sync") && m.has("aligned") && m.has("row") && m.has("col") && len(ts) == 4)
	m.has("satfinite")
	dt, at, bt, ct := ts[0], ts[1], ts[2], ts[3]
	name := m.take("m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32")
	shape, ok := mmaShapes[at.bits][name]
	c.need(ok && at.bits == bt.bits && dt == ct)
	half := at.kind == kFloat && at.bits == 16 && dt == typeNames["f16"]
	c.need(half || dt == typeNames["f32"] && at == bt && (at.kind == kTF32 || at.bits == 16) || dt == typeNames["s32"] && at.bits == 8)
	fa := fragment{at, shape.aRegs, shape.a}
	fb := fragment{bt, shape.bRegs, shape.b}
	fc := fragment{elem: dt, regs: 4, at: atC}
	if half {
		fc.regs = 2
	}
	d, a, b, e := c.fragmentRegs(0, fc.regs), c.fragmentRegs(1, fa.regs), c.fragmentRegs(2, fb.regs), c.fragmentRegs(3, fc.regs)
	c.out.warp = func(lanes []*thread) {
		countProduct(lanes)
		x, y, acc := fa.gather(lanes, a, 16, shape.k), fb.gather(lanes, b, shape.k, 8), fc.gather(lanes, e, 16, 8)
		for i := range 16 {
			for j := range 8 {
				sum := acc[i*8+j]
				for k := range shape.k {
					sum += x[i*shape.k+k] * y[k*8+j]
				}
				acc[i*8+j] = sum
			}
		}
		fc.scatter(lanes, d, 8, acc)
	}
}

func countProduct(lanes []*thread) {
	stats := &lanes[0].block.run.stats
	stats.Products++
	inFlight := func(t *thread) bool {
		return len(t.copies) > 0 || slices.ContainsFunc(t.groups, func(g []asyncCopy) bool { return len(g) > 0 })
	}
	if slices.ContainsFunc(lanes, inFlight) {
		stats.Ahead++
	}
}

func (c *compiler) fragmentRegs(i, n int) []int {
	var out []int
	for _, o := range c.vector(i, n) {
		if i == 0 {
			out = append(out, c.regOf(o))
		} else {
			out = append(out, c.srcOf(o, typeNames["b32"]))
		}
	}
	return out
}

// conflicts is how often eight rows of 16 bytes come again to banks that others of them use.
func conflicts(at [8]uint64) int64 {
	var rows [8]map[uint64]bool // by place in a line of 128 bytes
	most := 1
	for _, a := range at {
		place := a / 16 % 8
		if rows[place] == nil {
			rows[place] = map[uint64]bool{}
		}
		rows[place][a] = true // rows at one address are one
		most = max(most, len(rows[place]))
	}
	return int64(most - 1)
}

// genLdmatrix: ldmatrix.sync.aligned.m8n8.x4{.trans}.shared.b16 {r...}, [p]. Lanes 8*j to 8*j+7 give
// the addresses of the rows of matrix j.
func genLdmatrix(c *compiler, m *mods) {
	c.count(2)
	c.need(m.has("sync") && m.has("aligned") && m.has("m8n8") && c.one(m) == typeNames["b16"])
	trans := m.has("trans")
	x := m.take("x1", "x2", "x4")
	c.need(x != "")
	n := int(x[1] - '0')
	sp := spaceNames[m.take("shared", "shared::cta")]
	regs := c.fragmentRegs(0, n)
	base, off := c.address(1)
	row := &access{size: 16, elem: 2, read: true}
	c.out.warp = func(lanes []*thread) {
		for j := range n {
			var mat [8][]byte
			var at [8]uint64
			for r := range mat {
				t := lanes[8*j+r]
				at[r] = t.r[base] + off
				mat[r] = t.bytes(sp, at[r], row)
			}
			lanes[0].block.run.stats.Conflicts += conflicts(at)
			for l, t := range lanes {
				r, k := l/4, l%4*2
				if trans {
					t.r[regs[j]] = getUint(mat[k][2*r:], 2) | getUint(mat[k+1][2*r:], 2)<<16
				} else {
					t.r[regs[j]] = getUint(mat[r][2*k:], 4)
				}
			}
		}
	}
}
