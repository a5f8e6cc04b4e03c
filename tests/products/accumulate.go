package products

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"strings"

	"ptoc/codegen/abi"
	"ptoc/ir"
	"ptoc/runtime/controller"
)

// Accumulation is a kernel, step, that adds products up in loops.
type Accumulation struct {
	Text    string
	Watched string // the same, but other ops see what is added to in each turn
	dtype   ir.DType
}

// side is the extent of the kernel's tensors, which holds five turns' tiles.
const side = 128

// Accumulate draws one: element type, tile, where it starts from, loops and what follows them.
func Accumulate(r *rand.Rand) Accumulation {
	pick := func(of ...string) string { return of[r.Intn(len(of))] }
	number := func(of ...int) int { return of[r.Intn(len(of))] }
	dtype := []ir.DType{ir.BF16, ir.BF16, ir.FP32, ir.INT8}[r.Intn(4)]
	sum := map[bool]string{true: "FP32", false: "INT32"}[dtype.IsFloat()]
	rows, cols, deep := number(64, 64, 64, 32, 12), number(32, 32, 64, 16, 24), number(8, 16, 16, 24)
	batch, view := "", "[0]"
	if r.Intn(4) == 0 {
		batch, view, rows = "2, ", "", number(32, 32, 16)
	}
	at := strings.Repeat("0, ", len(batch)/3)
	tile := func(of, y, x string, rows, cols int) string {
		return fmt.Sprintf("pl.load(%s%s, [%s%s, %s], [%s%d, %d])", of, view, at, y, x, batch, rows, cols)
	}
	aTrans, bTrans := r.Intn(3) == 0, r.Intn(3) == 0
	product := func(k string) string {
		left, right, trans := tile("a", "0", k, rows, deep), tile("b", k, "0", deep, cols), ""
		if aTrans {
			left, trans = tile("a", k, "0", deep, rows), ", a_trans=True"
		}
		if bTrans {
			right, trans = tile("b", "0", k, cols, deep), trans+", b_trans=True"
		}
		return left + ", " + right + trans
	}
	seen := fmt.Sprintf("pl.store(acc, [%s0, 0], e%s)", at, view)
	body := []string{"acc = pl.matmul_acc(acc, " + product("k") + ")", "WATCH"}
	for _, extra := range []string{
		"acc = pl.matmul_acc(acc, " + product("0") + ")\nWATCH",
		"for j in pl.range(0, n, " + fmt.Sprint(2*deep) + "):\n    acc = pl.matmul_acc(acc, " + product("j") + ")\n    WATCH",
		"for j in pl.range(k % 3):\n    acc = pl.matmul_acc(acc, " + product("k") + ")\n    WATCH\n" + strings.ReplaceAll(seen, "e[", "d[") + "\nacc = pl.matmul_acc(acc, " + product("k") + ")",
		"other = pl.matmul_acc(other, " + product("k") + ")",
		"acc, other = other, acc",
		"if k > 8:\n    acc = pl.matmul_acc(acc, " + product("8") + ")",
		"acc = acc + acc",
	} {
		if r.Intn(8) == 0 {
			body = append(body, extra)
		}
	}
	indent := func(s string) string { return strings.ReplaceAll(s, "\n", "\n    ") }
	stop := pick("n", "n", "n", fmt.Sprint(deep), fmt.Sprint(3*deep), fmt.Sprint(5*deep))
	loop := fmt.Sprintf(pick("for k in pl.range(0, %s, %d):", "for k in pl.pipeline(0, %s, %d, stage=3):"), stop, deep)
	loop = indent(loop + "\n" + strings.Join(body, "\n"))
	if r.Intn(4) == 0 {
		loop = indent("for again in pl.range(" + pick("2", "n // 20") + "):\n" + loop)
	}
	first := []string{
		fmt.Sprintf("pl.full([%s%d, %d], pl.%s, 2)", batch, rows, cols, sum),
		fmt.Sprintf("pl.full([%s%d, %d], pl.%s, 2)", batch, rows, cols, sum),
		tile("c", "0", "0", rows, cols), tile("c", "0", "0", rows, cols) + " + 1", "pl.matmul(" + product("0") + ")",
	}
	last := pick("acc", "acc", "acc + other", fmt.Sprintf("pl.matmul_acc(acc, %s)", product("16")), "pl.matmul_acc(acc, "+product("0")+") - acc")
	text := fmt.Sprintf(`import ptoc.language as pl

@pl.jit.incore
def step(a: pl.Tensor[[2, SIDE, SIDE], pl.%[1]s], b: pl.Tensor[[2, SIDE, SIDE], pl.%[1]s], c: pl.InOut[pl.Tensor[[2, SIDE, SIDE], pl.%[2]s]],
         d: pl.InOut[pl.Tensor[[2, SIDE, SIDE], pl.%[2]s]], e: pl.InOut[pl.Tensor[[2, SIDE, SIDE], pl.%[2]s]], n: pl.Scalar[pl.INDEX]):
    acc = %[3]s
    other = %[4]s
    %[5]s
    pl.store(%[6]s, [%[7]s0, 0], c%[8]s)
    return c, d, e
`, dtype, sum, first[r.Intn(len(first))], first[r.Intn(len(first))], indent(loop), last, at, view)
	text = strings.ReplaceAll(text, "SIDE", fmt.Sprint(side))
	return Accumulation{strings.ReplaceAll(text, "WATCH", "pass"), strings.ReplaceAll(text, "WATCH", seen), dtype}
}

// Run gives what step leaves in c and d. It is given numbers[i % len] as the i-th of each tensor.
func (x Accumulation) Run(b controller.Backend, m *ir.Module, numbers []float32, n int64) ([]byte, error) {
	k, err := b.Kernel(m.Func("step"))
	if err != nil {
		return nil, err
	}
	var args []abi.Arg
	var out []byte
	var results [][]byte
	for i := range 5 {
		var data []byte
		for j := range 2 * side * side {
			data = x.append(data, numbers[j*(1+2*i)%len(numbers)], i >= 2)
		}
		t, err := b.Alloc(fmt.Sprint("tensor ", i), int64(len(data)))
		if err != nil {
			return nil, err
		}
		copy(t.Data, data)
		results = append(results, t.Data)
		args = append(args, abi.Arg{Tag: abi.TagHeap, Value: t.Addr})
	}
	if err := b.Dispatch(0, k, append(args, abi.Arg{Value: n})); err != nil {
		return nil, err
	}
	err = b.Wait(context.Background())
	out = bytes.Join(results[2:4], nil)
	return out, err
}

// append encodes a number as an element of the operands, or of what they are added to.
func (x Accumulation) append(data []byte, number float32, sum bool) []byte {
	switch {
	case x.dtype == ir.INT8 && sum:
		return binary.LittleEndian.AppendUint32(data, uint32(int32(number*16)))
	case x.dtype == ir.INT8:
		return append(data, byte(int8(number*16)))
	case sum || x.dtype == ir.FP32:
		return binary.LittleEndian.AppendUint32(data, math.Float32bits(number))
	}
	return binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(number)>>16))
}
