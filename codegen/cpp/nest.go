package cpp

import (
	"fmt"
	"strings"

	"ptoc/codegen/lower"
	"ptoc/ir"
)

// nest is one elementwise loop nest: all elementwise work is printed through it. Dims over which every
// operand runs on without a gap are merged, so that most nests are one loop.
type nest struct {
	op     *ir.Op
	shape  []ir.Dim
	ins    []*memory // an extent of 1 broadcasts
	outs   []*memory
	names  []string // element variables of ins
	atomic bool     // add to outs atomically
	stream int      // how many of outs, from the first on, get non-temporal stores
	copies bool     // body hands on its only in
	index  bool     // body uses the column index "col"
	// body prints what computes the elements and returns the expressions for outs.
	body func(ins []string) []string
}

func (n *nest) operands() []*memory { return append(append([]*memory(nil), n.ins...), n.outs...) }

func (n *nest) axes() lower.Axes {
	var ls []lower.Layout
	for _, m := range n.operands() {
		ls = append(ls, m.Layout)
	}
	return lower.Nest(n.shape, ls, n.index)
}

// print writes the nest in a block of its own.
func (e *fn) nest(n *nest) {
	a := n.axes()
	w := e.w
	w.open("{")
	e.push()
	ptrs := e.pointers(n, a)
	last := len(a.Extents) - 1
	for i := 0; i < last; i++ {
		w.open("for (i64 i%d = 0; i%d < %s; ++i%d) {", i, i, e.bareDim(a.Extents[i]), i)
	}
	rows := e.rows(n, a, ptrs)
	switch {
	case n.stream > 0 && !n.atomic && e.unit(a.Strides[last][len(n.ins):]):
		if n.copies && len(n.outs) == 1 && e.unit(a.Strides[last]) && n.ins[0].dt == n.outs[0].dt {
			w.line("%s((u8*)%s, (const u8*)%s, %s);", e.g.use("ptoc_stream"), paren(rows[1]), paren(rows[0]),
				e.bareDim(a.Extents[last].Scale(int64(n.outs[0].dt.Size()))))
			break
		}
		e.streamLoop(n, a, rows)
	default:
		e.innerLoop(n, a, rows, e.bareDim(a.Extents[last]), "ix")
	}
	for i := 0; i < last; i++ {
		w.close("}")
	}
	e.pop()
	w.close("}")
}

func (e *fn) unit(strides []ir.Dim) bool {
	for _, s := range strides {
		if !s.Is(1) {
			return false
		}
	}
	return true
}

// pointers declares one pointer per operand that is not a plain variable.
func (e *fn) pointers(n *nest, a lower.Axes) []string {
	var out []string
	for k, m := range n.operands() {
		if !strings.ContainsAny(m.ptr, " (") {
			out = append(out, m.ptr)
			continue
		}
		p := fmt.Sprintf("p%d", k)
		e.w.line("%s* %s = %s;", memType(m.dt), p, m.ptr)
		out = append(out, p)
	}
	return out
}

// rows declares the pointers to the current row of each operand.
func (e *fn) rows(n *nest, a lower.Axes, ptrs []string) []string {
	if len(a.Extents) == 1 {
		return ptrs
	}
	ops := n.operands()
	rows := make([]string, len(ptrs))
	for k := range ptrs {
		var idx []extent
		var strides []ir.Dim
		for i := 0; i < len(a.Extents)-1; i++ {
			if !a.Strides[i][k].Is(0) {
				idx = append(idx, extent{text: fmt.Sprintf("i%d", i)})
				strides = append(strides, a.Strides[i][k])
			}
		}
		rows[k] = ptrs[k]
		if off := e.offset(idx, strides); off != "" {
			rows[k] = fmt.Sprintf("r%d", k)
			e.w.line("%s* %s = %s + %s;", memType(ops[k].dt), rows[k], ptrs[k], off)
		}
	}
	return rows
}

// innerLoop is the unit-stride loop. All elements are read before any is written, and operands either
// do not overlap or coincide: no iteration depends on another.
func (e *fn) innerLoop(n *nest, a lower.Axes, rows []string, count, i string) {
	w := e.w
	strides := a.Strides[len(a.Strides)-1]
	single := count == "1"
	if single {
		i = "0"
		w.open("{")
	} else {
		if !n.atomic {
			w.line("#pragma GCC ivdep")
		}
		w.open("for (i64 %s = 0; %s < %s; ++%s) {", i, i, count, i)
	}
	e.push()
	if n.index {
		w.line("i64 col = %s;", i)
	}
	args := make([]string, len(n.ins))
	for k, m := range n.ins {
		args[k] = fmt.Sprintf("x%d", k)
		if k < len(n.names) {
			args[k] = n.names[k]
		}
		w.line("%s %s = %s;", regType(m.dt), args[k], e.loadElem(rows[k]+e.subscript(i, strides[k]), m.dt))
	}
	results := n.body(args)
	for k, m := range n.outs {
		row, s := rows[len(n.ins)+k], e.subscript(i, strides[len(n.ins)+k])
		if n.atomic {
			w.line("%s(%s%s, %s);", e.atomicAdd(m.dt), "&"+row, s, results[k])
		} else {
			w.line("%s%s = %s;", row, s, e.storeElem(results[k], m.dt))
		}
	}
	e.pop()
	w.close("}")
}

func (e *fn) subscript(i string, stride ir.Dim) string {
	switch {
	case stride.Is(0) || i == "0":
		return "[0]"
	case stride.Is(1):
		return "[" + i + "]"
	}
	return "[" + i + " * " + e.dim(stride) + "]"
}

// streamLoop computes blocks into a small buffer and copies them past the caches.
func (e *fn) streamLoop(n *nest, a lower.Axes, rows []string) {
	const block = 256
	w := e.w
	e.g.use("ptoc_stream")
	count := e.bareDim(a.Extents[len(a.Extents)-1])
	w.open("for (i64 b0 = 0; b0 < %s; b0 += %d) {", count, block)
	w.line("i64 m0 = %s - b0 < %d ? %s - b0 : %d;", count, block, count, block)
	inner := append([]string(nil), rows...)
	strides := a.Strides[len(a.Strides)-1]
	ops := n.operands()
	for k := range ops {
		switch {
		case k >= len(n.ins) && k < len(n.ins)+n.stream:
			inner[k] = fmt.Sprintf("o%d", k)
			w.line("alignas(64) %s %s[%d];", memType(ops[k].dt), inner[k], block)
		case !strides[k].Is(0):
			inner[k] = fmt.Sprintf("s%d", k)
			step := "b0"
			if !strides[k].Is(1) {
				step = "b0 * " + e.dim(strides[k])
			}
			w.line("%s* %s = %s + %s;", memType(ops[k].dt), inner[k], rows[k], step)
		}
	}
	e.innerLoop(n, a, inner, "m0", "ix")
	for k := len(n.ins); k < len(n.ins)+n.stream; k++ {
		w.line("ptoc_stream((u8*)(%s + b0), (const u8*)%s, m0 * %d);", rows[k], inner[k], ops[k].dt.Size())
	}
	w.close("}")
}

func (e *fn) atomicAdd(dt ir.DType) string {
	switch dt {
	case ir.FP32:
		return e.g.use("ptoc_atomic_add_f32")
	case ir.FP16:
		e.g.use("ptoc_f16_f32")
		e.g.use("ptoc_f32_f16")
		return e.g.use("ptoc_atomic_add_f16")
	case ir.BF16:
		e.g.use("ptoc_bf16_f32")
		e.g.use("ptoc_f32_bf16")
		return e.g.use("ptoc_atomic_add_bf16")
	}
	return e.g.use("ptoc_atomic_add")
}
