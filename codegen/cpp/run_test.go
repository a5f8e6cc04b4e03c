package cpp_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/codegen/cpp"
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/passes"
)

// compile gives the module of a text, after all passes or as it was checked.
func compile(t *testing.T, text string, lowered bool) *ir.Module {
	t.Helper()
	list := &diag.List{}
	m := passes.Load(source.NewFile("test.pl", text), check.Options{}, list)
	if list.HasErrors() {
		t.Fatal(list)
	}
	if !lowered {
		if l := passes.Run(m, passes.Options{Passes: []string{"InlineFunctions", "Simplify"}}); l.HasErrors() {
			t.Fatal(l)
		}
		return m
	}
	if l := passes.Run(m, passes.Options{}); l.HasErrors() {
		t.Fatal(l)
	}
	return m
}

// both runs f with the module before fusion and after all passes: they must do the same.
func both(t *testing.T, text string, f func(t *testing.T, k cpp.XKernel)) {
	t.Helper()
	for name, lowered := range map[string]bool{"unfused": false, "lowered": true} {
		t.Run(name, func(t *testing.T) { f(t, cpp.XBuild(t, compile(t, text, lowered), "k")) })
	}
}

func TestNamesOfAProgramAreFreeOfOurs(t *testing.T) {
	both(t, `
n = pl.dynamic("n")

@pl.jit.incore
def helper(x: pl.InOut[pl.Tensor[[n], pl.INT32]], char16_t: pl.Scalar[pl.INT32]):
    x[:] = pl.load(x, [0], [n]) + char16_t

@pl.jit.incore
def k(x: pl.InOut[pl.Tensor[[n], pl.INT32]]):
    f_helper = x[0]
    char32_t = f_helper + 1
    helper(x, char32_t)
    t = pl.load(x, [0], [n])
    x[:] = t - pl.amax(t, axis=0)

@pl.jit.incore
def k_arena(x: pl.InOut[pl.Tensor[[n], pl.INT32]]):
    k(x)
`, func(t *testing.T, k cpp.XKernel) {
		x := cpp.XMemory([]int32{3, 9, 4})
		if f := k.Call(t, x.Addr(), 3); f.Code != abi.OK {
			t.Fatal(f)
		}
		if !slices.Equal(x.Elems, []int32{-6, 0, -5}) {
			t.Errorf("x = %v", x.Elems)
		}
	})
}

func TestFaultsNameTheirOperands(t *testing.T) {
	both(t, `
N = pl.dynamic("N")

@pl.jit.incore
def k(x: pl.InOut[pl.Tensor[[N], pl.INT32]], what: pl.Scalar[pl.INDEX], v: pl.Scalar[pl.INDEX]):
    a = pl.array.create(4, pl.INT32)
    if what == 0:
        x = pl.write(x, [0], pl.cast(7 // v, pl.INT32))
    if what == 1:
        x = pl.write(x, [v], pl.const(1, pl.INT32))
    if what == 2:
        t = pl.load(x, [v], [8])
        x = pl.store(t + 1, [0], x)
    if what == 3:
        x = pl.write(x, [0], a[v])
    if what == 4:
        x = pl.write(x, [0], pl.cast(1 << v, pl.INT32))
    if what == 5:
        for i in pl.range(0, 10, v):
            x = pl.write(x, [0], pl.cast(i, pl.INT32))
    if what == 6:
        t = pl.load(x, [0], [8], valid_shape=[v])
        x = pl.store(t + 1, [0], x)
    if what == 7:
        x = pl.write(x, [0], pl.cast(7 % v, pl.INT32))
    return x
`, func(t *testing.T, k cpp.XKernel) {
		for _, tt := range []struct {
			what, v int64
			code    abi.Code
			ops     []int64
		}{
			{0, 2, abi.OK, nil}, {0, 0, abi.DivZero, []int64{7}}, {7, 0, abi.DivZero, []int64{7}},
			{1, 15, abi.OK, nil}, {1, 16, abi.LocalBounds, []int64{0, 16, 1, 16}}, {1, -1, abi.LocalBounds, []int64{0, -1, 1, 16}},
			{2, 8, abi.OK, nil}, {2, 9, abi.LocalBounds, []int64{0, 9, 8, 16}}, {2, math.MaxInt64, abi.LocalBounds, []int64{0, math.MaxInt64, 8, 16}},
			{2, math.MinInt64, abi.LocalBounds, []int64{0, math.MinInt64, 8, 16}},
			{3, 3, abi.OK, nil}, {3, 4, abi.LocalBounds, []int64{0, 4, 1, 4}},
			{4, 63, abi.OK, nil}, {4, 64, abi.BadValue, []int64{64, 0, 63}}, {4, -1, abi.BadValue, []int64{-1, 0, 63}},
			{5, 3, abi.OK, nil}, {5, 0, abi.BadValue, []int64{0}}, {5, math.MaxInt64, abi.OK, nil}, {5, math.MinInt64, abi.OK, nil},
			{6, 5, abi.OK, nil}, {6, 0, abi.OK, nil},
		} {
			x := cpp.XMemory(make([]int32, 16))
			f := k.Call(t, x.Addr(), tt.what, tt.v, 16)
			x.Check(t)
			if f.Code != tt.code {
				t.Errorf("%d with %d: %+v, want %v", tt.what, tt.v, f, tt.code)
			}
			for i, want := range tt.ops {
				if f.V[i] != want {
					t.Errorf("%d with %d: operand %d is %d, want %d", tt.what, tt.v, i, f.V[i], want)
				}
			}
			if tt.code != abi.OK && (f.Site < 0 || int(f.Site) >= len(k.Sites()) || !k.Sites()[f.Site].Span.IsValid()) {
				t.Errorf("%d with %d: site %d of %d", tt.what, tt.v, f.Site, len(k.Sites()))
			}
		}
	})
}

func TestLoopsCarryTilesAndScalars(t *testing.T) {
	both(t, `
@pl.jit.incore
def k(x: pl.Tensor[[1, 7], pl.FP32], y: pl.Out[pl.Tensor[[3, 7], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    a = pl.load(x, [0, 0], [1, 7])
    b = a * 0.0
    last = 0
    for i in pl.range(n):
        t = a + b
        b = a
        a = t
        last = i
    y = pl.store(a, [0, 0], y)
    y = pl.store(b, [1, 0], y)
    if last > 2:
        c = a - b
    else:
        c = b
    y = pl.store(c, [2, 0], y)
    return y
`, func(t *testing.T, k cpp.XKernel) {
		x := []float32{1, 2, 3, 4, 5, 6, 7}
		for n := range int64(9) {
			y := cpp.XMemory(make([]float32, 21))
			if f := k.Call(t, cpp.XMemory(x).Addr(), y.Addr(), n); f.Code != abi.OK {
				t.Fatalf("%+v", f)
			}
			y.Check(t)
			fa, fb := float32(1), float32(0)
			for range n {
				fa, fb = fa+fb, fa
			}
			c := fb
			if n > 3 {
				c = fa - fb
			}
			for i := range x {
				if y.Elems[i] != fa*x[i] || y.Elems[7+i] != fb*x[i] || y.Elems[14+i] != c*x[i] {
					t.Fatalf("after %d: %v", n, y.Elems)
				}
			}
		}
	})
}

// TestFusedReductionOverPeers runs what FuseTileOps turns inside out, for lengths around its block.
func TestFusedReductionOverPeers(t *testing.T) {
	for _, dt := range []string{"FP32", "FP16", "BF16", "INT32"} {
		size := map[string]int{"FP32": 4, "FP16": 2, "BF16": 2, "INT32": 4}[dt]
		both(t, `
N = pl.dynamic("N")

@pl.jit.incore
def k(data: pl.InOut[pld.DistributedTensor[[1, N], pl.`+dt+`]]):
    n = pld.nranks(pld.get_comm_ctx(data))
    acc = pld.remote_load(data, 0, [0, 0], [1, N])
    for p in pl.range(1, n):
        acc = acc + pld.remote_load(data, p, [0, 0], [1, N])
    for p in pl.range(n):
        pld.remote_store(acc, data, p, [0, 0], stream=True)
`, func(t *testing.T, k cpp.XKernel) {
			for _, n := range []int{0, 1, 15, 16, 127, 128, 129, 300, 1024} {
				w := cpp.XWorld(3, n*size+64)
				for r := range 3 {
					for i := range n {
						put(dt, w.Bytes(r)[i*size:], r*100+i%50)
					}
				}
				if f := k.CallOn(t, w, 1, int64(n)); f.Code != abi.OK {
					t.Fatalf("%+v", f)
				}
				for r := range 3 {
					for i := range n {
						if got := get(dt, w.Bytes(r)[i*size:]); got != 300+3*(i%50) && !(dt == "BF16" && abs(got-300-3*(i%50)) <= 2) {
							t.Fatalf("%s, %d elements: rank %d, element %d is %d", dt, n, r, i, got)
						}
					}
					for _, b := range w.Bytes(r)[n*size:] {
						if b != 0 {
							t.Fatalf("%s, %d elements: written behind the end", dt, n)
						}
					}
				}
			}
		})
	}
}

func abs(x int) int { return max(x, -x) }

func put(dt string, b []byte, v int) {
	switch dt {
	case "FP32":
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v)))
	case "INT32":
		binary.LittleEndian.PutUint32(b, uint32(v))
	case "BF16":
		binary.LittleEndian.PutUint16(b, uint16(math.Float32bits(float32(ir.RoundFloat(float64(v), ir.BF16)))>>16))
	case "FP16":
		binary.LittleEndian.PutUint16(b, cpp.XHalf(float32(v)))
	}
}

func get(dt string, b []byte) int {
	switch dt {
	case "FP32":
		return int(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case "INT32":
		return int(int32(binary.LittleEndian.Uint32(b)))
	case "BF16":
		return int(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	}
	return int(cpp.XFromHalf(binary.LittleEndian.Uint16(b)))
}
