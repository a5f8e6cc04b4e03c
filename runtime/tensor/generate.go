package tensor

import (
	"fmt"
	"hash/fnv"
	"math"

	"ptoc/ir"
)

// Random values are a function of (name of the input, seed, index) alone, made
// of integer arithmetic and one multiplication: the same on every machine.

// random is SplitMix64.
type random struct{ state uint64 }

func newRandom(name string, seed uint64) *random {
	h := fnv.New64a()
	h.Write([]byte(name))
	r := &random{h.Sum64()}
	r.state = r.next() ^ seed
	r.state = r.next()
	return r
}

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// normal is the sum of eight uniform values, shifted and scaled to mean 0 and
// variance 1. That is close to a normal distribution up to four sigmas, cannot
// exceed 4.9, and needs no function whose last bit depends on the machine.
func (r *random) normal() float64 {
	sum := int64(-8 << 31)
	for range 4 {
		z := r.next()
		sum += int64(z>>32) + int64(z&math.MaxUint32)
	}
	const scale = 1.2247448713915890491 / (1 << 32) // sqrt(12/8)
	return float64(sum) * scale
}

// between is uniform in lo..hi, both included.
func (r *random) between(lo, hi int64) int64 {
	span := uint64(hi) - uint64(lo) + 1
	if span == 0 {
		return int64(r.next())
	}
	return lo + int64(r.next()%span) // the bias of % does not matter in test data
}

// FillRandn fills a floating-point tensor with normal values.
func (t *Tensor) FillRandn(name string, seed uint64) error {
	if !t.DType.IsFloat() {
		return fmt.Errorf("randn makes floating-point values, and %s is %s: use ints:LO..HI", name, t.DType)
	}
	r := newRandom(name, seed)
	t.fillFloats(func(int64) float64 { return r.normal() })
	return nil
}

// FillInts fills t with whole numbers of lo..hi, both included.
func (t *Tensor) FillInts(name string, seed uint64, lo, hi int64) {
	r := newRandom(name, seed)
	t.fillInts(func(int64) int64 { return r.between(lo, hi) })
}

// FillDefault fills t with what suits its dtype: normal values; whole numbers
// of -10..10, or of 0..10 for INDEX; coin flips.
func (t *Tensor) FillDefault(name string, seed uint64) {
	switch {
	case t.DType.IsFloat():
		t.FillRandn(name, seed) // cannot fail for floats
	case t.DType == ir.BOOL:
		t.FillInts(name, seed, 0, 1)
	case t.DType == ir.INDEX:
		t.FillInts(name, seed, 0, 10)
	default:
		t.FillInts(name, seed, -10, 10)
	}
}

// FillIota fills t with 0, 1, 2, ... in C order.
func (t *Tensor) FillIota() { t.fillInts(func(i int64) int64 { return i }) }

// Fill sets every element.
func (t *Tensor) Fill(x float64) { t.fillFloats(func(int64) float64 { return x }) }

// block is how many elements are made before they are converted together.
const block = 512

func (t *Tensor) fillFloats(f func(int64) float64) {
	var buf [block]float64
	size, n := int64(t.DType.Size()), t.Len()
	for at := int64(0); at < n; at += block {
		part := buf[:min(block, n-at)]
		for i := range part {
			part[i] = f(at + int64(i))
		}
		storeFloats(t.DType, t.Data[at*size:], part)
	}
}

func (t *Tensor) fillInts(f func(int64) int64) {
	var buf [block]int64
	size, n := int64(t.DType.Size()), t.Len()
	for at := int64(0); at < n; at += block {
		part := buf[:min(block, n-at)]
		for i := range part {
			part[i] = f(at + int64(i))
		}
		storeInts(t.DType, t.Data[at*size:], part)
	}
}
