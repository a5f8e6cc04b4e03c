package ptxsim

import (
	"encoding/binary"
	"errors"
	"testing"

	"ptoc/tests/ptxas"
)

// Lane 13 has groupID 3 and threadID_in_group 1. The coordinates are read off the manual's figures.
func TestFragmentsLieAsTheManualSays(t *testing.T) {
	type rc [2]int
	for _, c := range []struct {
		name string
		at   func(g, t, i int) (int, int)
		want []rc
	}{
		{"m16n8k16 f16 A", at16A, []rc{{3, 2}, {3, 3}, {11, 2}, {11, 3}, {3, 10}, {3, 11}, {11, 10}, {11, 11}}},
		{"m16n8k16 f16 B", at16B, []rc{{2, 3}, {3, 3}, {10, 3}, {11, 3}}},
		{"m16n8 C", atC, []rc{{3, 2}, {3, 3}, {11, 2}, {11, 3}}},
		{"m16n8k8 tf32 A", at32A, []rc{{3, 1}, {11, 1}, {3, 5}, {11, 5}}},
		{"m16n8k8 tf32 B", at32B, []rc{{1, 3}, {5, 3}}},
		{"m16n8k32 s8 A", at8A, []rc{{3, 4}, {3, 5}, {3, 6}, {3, 7}, {11, 4}, {11, 5}, {11, 6}, {11, 7},
			{3, 20}, {3, 21}, {3, 22}, {3, 23}, {11, 20}, {11, 21}, {11, 22}, {11, 23}}},
		{"m16n8k32 s8 B", at8B, []rc{{4, 3}, {5, 3}, {6, 3}, {7, 3}, {20, 3}, {21, 3}, {22, 3}, {23, 3}}},
	} {
		for i, w := range c.want {
			if r, k := c.at(3, 1, i); (rc{r, k}) != w {
				t.Errorf("%s element %d: (%d, %d), want %v", c.name, i, r, k, w)
			}
		}
	}
}

// mmaKernel multiplies A [16, K] by B [K, 8], both with rows of 16-byte pieces in shared memory, where
// ldmatrix takes them from. B lies transposed unless its load transposes.
func mmaKernel(mma, loadB string) string {
	return `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d) {
.reg .b32 r<32>; .reg .b64 d<32>; .reg .f32 f<8>; .reg .pred p<2>;
.shared .align 16 .b8 sa[512];
.shared .align 16 .b8 sb[256];
ld.param.u64 d1, [a]; ld.param.u64 d2, [b]; ld.param.u64 d3, [d];
mov.u32 r1, %tid.x; mul.wide.u32 d4, r1, 16;
mov.u64 d5, sa; mov.u64 d6, sb;
add.u64 d7, d1, d4; add.u64 d8, d5, d4;
cp.async.cg.shared.global [d8], [d7], 16;
setp.lt.u32 p1, r1, 16;
add.u64 d7, d2, d4; add.u64 d8, d6, d4;
@p1 cp.async.cg.shared.global [d8], [d7], 16;
cp.async.wait_all;
bar.sync 0;
// Row r1 % 16 of A, its left or right 16 bytes.
and.b32 r2, r1, 15; shr.u32 r3, r1, 4; mad.lo.u32 r4, r3, 16, 0; mad.lo.u32 r4, r2, 32, r4; cvt.u64.u32 d9, r4; add.u64 d9, d5, d9;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r10, r11, r12, r13}, [d9];
` + loadB + `
mov.f32 f0, 0f3F800000; mov.f32 f1, f0; mov.f32 f2, f0; mov.f32 f3, f0;
` + mma + ` {f0, f1, f2, f3}, {r10, r11, r12, r13}, {r20, r21}, {f0, f1, f2, f3};
// Row r1/4 and columns 2*(r1%4) of D.
shr.u32 r5, r1, 2; and.b32 r6, r1, 3; mul.lo.u32 r7, r5, 32; mad.lo.u32 r7, r6, 8, r7; cvt.u64.u32 d10, r7; add.u64 d10, d3, d10;
st.global.v2.f32 [d10], {f0, f1};
st.global.v2.f32 [d10+256], {f2, f3};
ret;
}
`
}

// B [16, 8] with rows of 16 bytes: two matrices below one another, transposed on the way.
const loadTransposed = "mul.wide.u32 d11, r2, 16; add.u64 d11, d6, d11; ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {r20, r21}, [d11];"

// B lies as [8 columns, 32 bytes of k]: two matrices beside one another.
const loadColumns = "and.b32 r8, r1, 7; shr.u32 r9, r2, 3; mul.lo.u32 r8, r8, 32; mad.lo.u32 r8, r9, 16, r8; cvt.u64.u32 d11, r8; add.u64 d11, d6, d11; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {r20, r21}, [d11];"

func TestMatrixProducts(t *testing.T) {
	for _, c := range []struct {
		mma, load string
		k         int
		elem      dtype
		columns   bool
	}{
		{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", loadTransposed, 16, typeNames["f16"], false},
		{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", loadColumns, 16, typeNames["f16"], true},
		{"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", loadTransposed, 16, typeNames["bf16"], false},
		{"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", loadColumns, 8, typeNames["f32"], true},
	} {
		t.Run(c.mma[17:], func(t *testing.T) { testProduct(t, mmaKernel(c.mma, c.load), c.k, c.elem, c.columns) })
	}
}

func testProduct(t *testing.T, text string, k int, elem dtype, columns bool) {
	if _, err := ptxas.Assemble(text, "sm_90"); err != nil && !errors.Is(err, ptxas.ErrMissing) {
		t.Fatalf("%v\n%s", err, text)
	}
	m, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	mem := NewMemory()
	a, b, d := mem.Alloc("a", 512), mem.Alloc("b", 256), mem.Alloc("d", 512)
	left := func(i, x int) float64 { return float64((3*i+5*x)%7 - 3) }
	right := func(x, j int) float64 { return float64((2*x+3*j)%5 - 2) }
	n := elem.bytes()
	for i := range 16 {
		for x := range k {
			putUint(mem.Bytes(a+uint64((i*k+x)*n), n), n, elem.format().encode(left(i, x), "rn"))
		}
	}
	for x := range k {
		for j := range 8 {
			at := x*8 + j
			if columns {
				at = j*k + x
			}
			putUint(mem.Bytes(b+uint64(at*n), n), n, elem.format().encode(right(x, j), "rn"))
		}
	}
	var params []byte
	for _, p := range []uint64{a, b, d} {
		params = binary.LittleEndian.AppendUint64(params, p)
	}
	if _, err := m.Launch(Config{Memory: mem, Block: [3]int{32}, Params: params, GlobalRaces: true}); err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		for j := range 8 {
			want := 1.0
			for x := range k {
				want += left(i, x) * right(x, j)
			}
			if got := f32(getUint(mem.Bytes(d+uint64(i*8+j)*4, 4), 4)); float64(got) != want {
				t.Fatalf("(%d, %d): %g, want %g", i, j, got, want)
			}
		}
	}
}

// The two integer shapes, with fragments filled by the formulas of the manual in PTX: every element of A
// is its row, every one of B its column plus 1.
func TestIntegerMatrixProduct(t *testing.T) {
	code := `shr.u32 r1, r29, 2; mul.lo.u32 r2, r1, 0x01010101; add.u32 r3, r2, 0x08080808; add.u32 r4, r2, 0x01010101;
		mov.u32 r10, 0; mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {r20, r21, r22, r23}, {r2, r3, r2, r3}, {r4, r4}, {r10, r10, r10, r10};
		add.u32 r0, r20, r21; mad.lo.u32 r0, r23, 100000, r0;`
	good(t, code, 32, func(i int) uint32 {
		g, k := i/4, i%4*2
		return uint32(32*g*(k+1) + 32*g*(k+2) + 100000*32*(g+8)*(k+2))
	})
}

func TestLdmatrixWantsAlignedRows(t *testing.T) {
	fill := tile + "mov.u32 r1, 0; L: mul.wide.u32 d1, r1, 128; add.u64 d1, d12, d1; st.shared.u32 [d1], r30; add.u32 r1, r1, 1; setp.lt.u32 p1, r1, 8; @p1 bra L; bar.sync 0; "
	bad(t, fill+"add.u64 d2, d11, 8; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [d2];", 32, "misaligned")
	bad(t, tile+"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [d11];", 32, "nobody wrote")
	good(t, fill+"mul.wide.u32 d2, r29, 16; add.u64 d2, d11, d2; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [d2];", 32,
		func(i int) uint32 { return uint32(i) }) // row i/4 of 16 bytes, word i%4
}

func TestHalfAccumulators(t *testing.T) {
	good(t, "mov.b32 r1, 0x3c003c00; mov.b32 r2, 0; mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {r3, r4}, {r1, r1, r1, r1}, {r1, r1}, {r2, r1}; xor.b32 r0, r3, r4;", 32,
		func(int) uint32 { return 0x4c004c00 ^ 0x4c404c40 }) // 16 and 17
}
