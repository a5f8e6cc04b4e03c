package stdlib_test

import (
	"math/rand/v2"

	"ptoc/ir"
	"ptoc/runtime/tensor"
)

// inputs makes x: [ranks, rounds * rows, n].
func (c call) inputs(seed uint64) *tensor.Tensor {
	in, _ := c.rows()
	x := must(tensor.New(c.dtype, int64(c.ranks), int64(rounds*rowCount(in, c.ranks)), int64(c.n)))
	rng := rand.New(rand.NewPCG(seed, uint64(c.n)))
	for i := range int(x.Len()) {
		switch {
		case c.dtype == ir.INT32:
			x.SetInt(int64(i), int64(int32(rng.Uint32())))
		case c.reduce == "Prod":
			x.SetFloat(int64(i), 0.75+rng.Float64()/2)
		default:
			x.SetFloat(int64(i), rng.NormFloat64())
		}
	}
	return x
}

func rowCount(many bool, ranks int) int {
	if many {
		return ranks
	}
	return 1
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// want computes y, bit for bit: the order and the roundings that the library promises.
func (c call) want(x *tensor.Tensor) *tensor.Tensor {
	_, out := c.rows()
	y := must(tensor.New(c.dtype, int64(c.ranks), int64(rounds*rowCount(out, c.ranks)), int64(c.n)))
	for r := range c.ranks {
		for k := range rounds {
			for row := range rowCount(out, c.ranks) {
				for i := range c.n {
					at := flat(y, r, k*rowCount(out, c.ranks)+row, i)
					c.element(y, at, x, r, k, row, i)
				}
			}
		}
	}
	return y
}

func flat(t *tensor.Tensor, i, j, k int) int64 {
	return (int64(i)*t.Shape[1]+int64(j))*t.Shape[2] + int64(k)
}

// element sets y[at], which is element i of a row of rank r's result in round k.
func (c call) element(y *tensor.Tensor, at int64, x *tensor.Tensor, r, k, row, i int) {
	copyFrom := func(rank, j int) {
		from, size := flat(x, rank, j, i), int64(c.dtype.Size())
		copy(y.Data[at*size:(at+1)*size], x.Data[from*size:])
	}
	switch c.op {
	case "broadcast":
		copyFrom(c.root(), k)
	case "barrier":
		copyFrom(r, k)
	case "allgather":
		copyFrom(row, k)
	case "all_to_all":
		copyFrom(row, k*c.ranks+r)
	case "allreduce":
		c.reduceInto(y, at, x, k, i)
	case "reduce_scatter":
		c.reduceInto(y, at, x, k*c.ranks+r, i)
	}
}

// reduceInto combines x[*, j, i].
func (c call) reduceInto(y *tensor.Tensor, at int64, x *tensor.Tensor, j, i int) {
	first, round := 0, func(v float32) float32 { return v }
	if c.mode == "ring" && c.ranks > 1 {
		seg := ((c.n+c.ranks-1)/c.ranks + 31) / 32 * 32
		first = i / seg
		round = c.round
	}
	if c.dtype == ir.INT32 {
		acc := int32(x.Int(flat(x, first, j, i)))
		for p := 1; p < c.ranks; p++ {
			acc = combine(c.reduce, acc, int32(x.Int(flat(x, (first+p)%c.ranks, j, i))))
		}
		y.SetInt(at, int64(acc))
		return
	}
	acc := float32(x.Float(flat(x, first, j, i)))
	for p := 1; p < c.ranks; p++ {
		acc = round(combine(c.reduce, acc, float32(x.Float(flat(x, (first+p)%c.ranks, j, i)))))
	}
	y.SetFloat(at, float64(acc))
}

// round rounds to the element type.
func (c call) round(v float32) float32 {
	switch c.dtype {
	case ir.FP16:
		return tensor.FP16Value(tensor.FP16Bits(float64(v)))
	case ir.BF16:
		return tensor.BF16Value(tensor.BF16Bits(float64(v)))
	}
	return v
}

func combine[T int32 | float32](op string, a, b T) T {
	switch op {
	case "Sum":
		return a + b
	case "Prod":
		return a * b
	case "Max":
		return T(max(a, b))
	}
	return T(min(a, b))
}
