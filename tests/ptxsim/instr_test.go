package ptxsim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ptoc/tests/ptxas"
)

// regs declares registers for test code: p0 predicates, h0 16 bits, r0 32, d0 64, f0 FP32, g0 FP64.
const regs = `.reg .pred p<8>; .reg .b16 h<16>; .reg .b32 r<32>; .reg .b64 d<16>; .reg .f32 f<32>; .reg .f64 g<8>;`

func kernel(body string) string {
	return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {\n" + regs + "\n" + body + "\nret;\n}\n"
}

// result stores the register that the test code sets and ends.
func result(code string) string {
	last := code[:strings.LastIndex(code, ";")]
	store := map[string]string{
		"r0": "st.global.u32 [d15], r0;", "d0": "st.global.u64 [d15], d0;", "h0": "st.global.u16 [d15], h0;",
		"f0": "st.global.f32 [d15], f0;", "g0": "st.global.f64 [d15], g0;", "p0": "selp.u32 r31, 1, 0, p0; st.global.u32 [d15], r31;",
	}
	at, reg := -1, ""
	for name := range store {
		for _, form := range []string{" " + name + ",", "{" + name + ",", " " + name + "|"} {
			if i := strings.LastIndex(last, form); i > at {
				at, reg = i, name
			}
		}
	}
	return kernel("ld.param.u64 d15, [out];\n" + code + "\n" + store[reg])
}

func run1(text string, seed uint64) (uint64, error) {
	m, err := Parse(text)
	if err != nil {
		return 0, err
	}
	mem := NewMemory()
	out := mem.Alloc("out", 64)
	_, err = m.Launch(Config{Memory: mem, Params: binary.LittleEndian.AppendUint64(nil, out), Seed: seed})
	return binary.LittleEndian.Uint64(mem.Bytes(out, 8)), err
}

// instructions are tested against values worked out by hand from the PTX manual.
var instructions = []struct {
	code string
	want uint64
}{
	// Integers.
	{"add.s32 r0, 0x7fffffff, 1;", 0x80000000},
	{"add.sat.s32 r0, 0x7fffffff, 1;", 0x7fffffff},
	{"sub.sat.s32 r0, 0x80000000, 1;", 0x80000000},
	{"mov.u16 h1, 0xffff; add.u16 h0, h1, 2;", 1},
	{"add.cc.u32 r1, 0xffffffff, 1; addc.u32 r0, 5, 6;", 12},
	{"sub.cc.u32 r1, 0, 1; subc.u32 r0, 5, 0;", 4},
	{"mov.u64 d1, -1; add.cc.u64 d2, d1, 1; addc.u64 d0, 7, 0;", 8},
	{"mul.lo.s32 r0, 100000, 100000;", 1410065408},
	{"mul.hi.s32 r0, -1, 5;", 0xffffffff},
	{"mul.hi.u32 r0, 0xffffffff, 5;", 4},
	{"mul.wide.s32 d0, -3, 5;", 0xfffffffffffffff1},
	{"mul.wide.u32 d0, 0xfffffffd, 5;", 0x4fffffff1},
	{"mov.u16 h1, 0xfffe; mul.wide.s16 r0, h1, 3;", 0xfffffffa},
	{"mov.u64 d1, -2; mul.hi.s64 d0, d1, 3;", 0xffffffffffffffff},
	{"mov.u64 d1, -2; mul.hi.u64 d0, d1, 3;", 2},
	{"mad.lo.s32 r0, -2, 3, 10;", 4},
	{"mad.wide.s32 d0, -2, 3, 5;", 0xffffffffffffffff},
	{"sad.s32 r0, -2, 3, 10;", 15},
	{"div.s32 r0, -7, 2;", 0xfffffffd},
	{"rem.s32 r0, -7, 2;", 0xffffffff},
	{"div.u32 r0, 0xfffffff9, 2;", 0x7ffffffc},
	{"div.s32 r0, 0x80000000, -1;", 0x80000000},
	{"min.s32 r0, -1, 1;", 0xffffffff},
	{"min.u32 r0, 0xffffffff, 1;", 1},
	{"max.s64 d0, -1, 1;", 1},
	{"abs.s32 r0, -5;", 5},
	{"neg.s32 r0, 5;", 0xfffffffb},
	{"dp4a.s32.s32 r0, 0x01ff0203, 0x02030405, 10;", 10 + 1*2 - 1*3 + 2*4 + 3*5},
	// Bits.
	{"and.b32 r0, 0xff00ff00, 0x0ff00ff0;", 0x0f000f00},
	{"xor.b32 r0, 0xff00ff00, 0x0ff00ff0;", 0xf0f0f0f0},
	{"not.b32 r0, 0xff00ff00;", 0x00ff00ff},
	{"mov.b32 r1, 0xf0; mov.b32 r2, 0xcc; mov.b32 r3, 0xaa; lop3.b32 r0, r1, r2, r3, 0xe8;", 0xe8},
	{"mov.u32 r1, 40; shl.b32 r0, 1, r1;", 0},
	{"shl.b32 r0, 3, 31;", 0x80000000},
	{"mov.u32 r1, 99; shr.s32 r0, 0x80000000, r1;", 0xffffffff},
	{"shr.u32 r0, 0x80000000, 31;", 1},
	{"shr.s64 d0, 0x8000000000000000, 63;", 0xffffffffffffffff},
	{"shf.l.wrap.b32 r0, 0x80000001, 0x12345678, 4;", 0x23456788},
	{"shf.r.wrap.b32 r0, 0x80000001, 0x12345678, 4;", 0x88000000},
	{"mov.u32 r1, 33; shf.r.clamp.b32 r0, 0x80000001, 0x12345678, r1;", 0x12345678},
	{"prmt.b32 r0, 0x33221100, 0x77665544, 0x7531;", 0x77553311},
	{"prmt.b32 r0, 0x33221180, 0x77665544, 0x0008;", 0x808080ff},
	{"bfe.u32 r0, 0x12345678, 8, 12;", 0x456},
	{"bfe.s32 r0, 0x00000f00, 8, 4;", 0xffffffff},
	{"bfe.s32 r0, 0x80000000, 28, 12;", 0xfffffff8},
	{"bfi.b32 r0, 0xab, 0x11111111, 8, 8;", 0x1111ab11},
	{"brev.b32 r0, 1;", 0x80000000},
	{"clz.b32 r0, 0x00010000;", 15},
	{"clz.b64 r0, 1;", 63},
	{"popc.b32 r0, 0xf0f0;", 8},
	{"bfind.u32 r0, 0x00010000;", 16},
	{"bfind.s32 r0, -1;", 0xffffffff},
	// Comparisons and selection.
	{"setp.lt.s32 p0, -1, 1;", 1},
	{"setp.lt.u32 p0, -1, 1;", 0},
	{"setp.lo.u32 p0, 1, -1;", 1},
	{"setp.eq.s32 p1, 1, 1; setp.ne.and.s32 p0, 1, 2, p1;", 1},
	{"setp.eq.s32 p1, 1, 1; setp.ne.and.s32 p0, 1, 2, !p1;", 0},
	{"setp.eq.s32 p1|p2, 1, 1; setp.eq.xor.s32 p0, 1, 1, p2;", 1},
	{"mov.f32 f1, 0f7FC00000; setp.lt.f32 p0, f1, f1;", 0},
	{"mov.f32 f1, 0f7FC00000; setp.ltu.f32 p0, f1, f1;", 1},
	{"mov.f32 f1, 0f7FC00000; setp.ne.f32 p0, f1, 0f00000000;", 0},
	{"mov.f32 f1, 0f7FC00000; setp.neu.f32 p0, f1, 0f00000000;", 1},
	{"mov.f32 f1, 0f7FC00000; setp.nan.f32 p0, f1, 0f00000000;", 1},
	{"mov.f32 f1, 0f80000000; setp.eq.f32 p0, f1, 0f00000000;", 1},
	{"mov.b16 h1, 0x3c00; mov.b16 h2, 0x4000; setp.lt.f16 p0, h1, h2;", 1},
	{"setp.eq.s32 p1, 1, 1; selp.b32 r0, 7, 9, p1;", 7},
	{"slct.b32.s32 r0, 7, 9, -1;", 9},
	{"set.lt.u32.s32 r0, -1, 1;", 0xffffffff},
	{"set.lt.f32.s32 f0, -1, 1;", 0x3f800000},
	{"setp.eq.s32 p1, 1, 1; mov.pred p0, p1;", 1},
	{"setp.eq.s32 p1, 1, 1; not.pred p0, p1;", 0},
	{"setp.eq.s32 p1, 1, 1; xor.pred p0, p1, p1;", 0},
	// FP32: 1 + 2^-24 + 2^-24 needs the fused form.
	{"add.rn.f32 f0, 0f3F800000, 0f33800000;", 0x3f800000},
	{"add.rp.f32 f0, 0f3F800000, 0f33800000;", 0x3f800001},
	{"sub.rz.f32 f0, 0f3F800000, 0f33000000;", 0x3f7fffff},
	{"mul.rn.f32 f0, 0f3F800001, 0f3F800001;", 0x3f800002},
	{"mul.rp.f32 f0, 0f3F800001, 0f3F800001;", 0x3f800003},
	{"fma.rn.f32 f0, 0f3F800001, 0f3F800001, 0fBF800002;", 0x28800000}, // (1+e)^2 - (1+2e) = e^2
	{"mul.rn.f32 f0, 0f00000001, 0f3F000000;", 0},                      // half of the least: to even
	{"mul.ftz.f32 f0, 0f00000003, 0f3F800000;", 0},
	{"add.sat.f32 f0, 0f3F800000, 0f3F800000;", 0x3f800000},
	{"div.rn.f32 f0, 0f3F800000, 0f40400000;", 0x3eaaaaab},
	{"div.rz.f32 f0, 0f3F800000, 0f40400000;", 0x3eaaaaaa},
	{"div.rn.f32 f0, 0f3F800000, 0f80000000;", 0xff800000},
	{"rcp.rn.f32 f0, 0f40400000;", 0x3eaaaaab},
	{"sqrt.rn.f32 f0, 0f40000000;", 0x3fb504f3},
	{"sqrt.rp.f32 f0, 0f40000000;", 0x3fb504f4},
	{"rsqrt.approx.f32 f0, 0f40800000;", 0x3f000000},
	{"ex2.approx.f32 f0, 0f40400000;", 0x41000000},
	{"lg2.approx.f32 f0, 0f41000000;", 0x40400000},
	{"sin.approx.f32 f0, 0f00000000;", 0},
	{"cos.approx.f32 f0, 0f00000000;", 0x3f800000},
	{"min.f32 f0, 0f7FC00000, 0f3F800000;", 0x3f800000},
	{"min.NaN.f32 f0, 0f7FC00000, 0f3F800000;", 0x7fffffff},
	{"max.f32 f0, 0f80000000, 0f00000000;", 0},
	{"min.f32 f0, 0f80000000, 0f00000000;", 0x80000000},
	{"neg.f32 f0, 0f3F800000;", 0xbf800000},
	{"abs.f32 f0, 0fBF800000;", 0x3f800000},
	{"copysign.f32 f0, 0fBF800000, 0f40000000;", 0xc0000000},
	{"testp.infinite.f32 p0, 0f7F800000;", 1},
	{"sub.f32 f1, 0f7F800000, 0f7F800000; mov.b32 r0, f1;", 0x7fffffff},
	// FP64.
	{"add.rn.f64 g0, 0d3FF0000000000000, 0d4000000000000000;", 0x4008000000000000},
	{"fma.rn.f64 g0, 0d4000000000000000, 0d4000000000000000, 0d3FF0000000000000;", 0x4014000000000000},
	{"div.rn.f64 g0, 0d3FF0000000000000, 0d4000000000000000;", 0x3fe0000000000000},
	// FP16 and BF16.
	{"mov.b16 h1, 0x3c00; mov.b16 h2, 0x1000; add.rn.f16 h0, h1, h2;", 0x3c00}, // 1 + 2^-11: to even
	{"mov.b16 h1, 0x3c01; mov.b16 h2, 0x1000; add.rn.f16 h0, h1, h2;", 0x3c02},
	{"mov.b16 h1, 0x7bff; add.rn.f16 h0, h1, h1;", 0x7c00},
	{"mov.b16 h1, 0x0001; mov.b16 h2, 0x3800; mul.rn.f16 h0, h1, h2;", 0},
	{"mov.b16 h1, 0x3c01; mov.b16 h2, 0xbc02; fma.rn.f16 h0, h1, h1, h2;", 0x0010}, // 2^-20
	{"mov.b32 r1, 0x40003c00; add.rn.f16x2 r0, r1, r1;", 0x44004000},
	{"mov.b32 r1, 0x40003c00; fma.rn.f16x2 r0, r1, r1, r1;", 0x46004000},
	{"mov.b16 h1, 0x3f80; mov.b16 h2, 0x4000; mov.b16 h3, 0x3f80; fma.rn.bf16 h0, h1, h2, h3;", 0x4040},
	{"mov.b32 r1, 0x40003f80; fma.rn.bf16x2 r0, r1, r1, r1;", 0x40c04000},
	{"mov.b16 h1, 0x7fff; mov.b16 h2, 0x3f80; min.bf16 h0, h1, h2;", 0x3f80},
	{"mov.b16 h1, 0x3c00; neg.f16 h0, h1;", 0xbc00},
	// Conversions.
	{"cvt.u64.u32 d0, -1;", 0xffffffff},
	{"cvt.s64.s32 d0, -1;", 0xffffffffffffffff},
	{"mov.b32 r1, 0x1ff; cvt.s32.s8 r0, r1;", 0xffffffff},
	{"mov.b32 r1, 300; cvt.sat.u8.s32 r0, r1;", 255},
	{"mov.b32 r1, -300; cvt.sat.s8.s32 r0, r1;", 0xffffff80},
	{"cvt.rn.f32.s32 f0, 16777217;", 0x4b800000},
	{"cvt.rp.f32.s32 f0, 16777217;", 0x4b800001},
	{"mov.u64 d1, 0x8000008000000001; cvt.rn.f32.u64 f0, d1;", 0x5f000001}, // a double in between would tie to even
	{"cvt.rn.f64.s32 g0, -3;", 0xc008000000000000},
	{"cvt.rzi.s32.f32 r0, 0fC0200000;", 0xfffffffe}, // -2.5
	{"cvt.rni.s32.f32 r0, 0f40200000;", 2},
	{"cvt.rmi.s32.f32 r0, 0fC0200000;", 0xfffffffd},
	{"cvt.rpi.s32.f32 r0, 0f40200000;", 3},
	{"cvt.rzi.s32.f32 r0, 0f7FC00000;", 0},
	{"cvt.rzi.s64.f32 d0, 0f7FC00000;", 0x8000000000000000},
	{"cvt.rzi.s32.f32 r0, 0f7F800000;", 0x7fffffff},
	{"cvt.rzi.u32.f32 r0, 0fBF800000;", 0},
	{"cvt.rzi.u32.f32 r0, 0f4F800000;", 0xffffffff},
	{"cvt.rzi.s64.f32 d0, 0fDF800000;", 0x8000000000000000},
	{"cvt.rzi.u64.f32 d0, 0f5F400000;", 0xc000000000000000},
	{"cvt.rni.f32.f32 f0, 0f40600000;", 0x40800000}, // 3.5
	{"cvt.rmi.f32.f32 f0, 0fBF000000;", 0xbf800000},
	{"cvt.rzi.f32.f32 f0, 0fBF000000;", 0x80000000},
	{"cvt.sat.f32.f32 f0, 0f40600000;", 0x3f800000},
	{"cvt.rn.f16.f32 h0, 0f477FF000;", 0x7c00}, // 65520 rounds to infinity
	{"cvt.rz.f16.f32 h0, 0f477FF000;", 0x7bff},
	{"cvt.rn.f16.f32 h0, 0f33000001;", 1}, // just above half of the least
	{"cvt.rn.f16.f32 h0, 0f33000000;", 0},
	{"mov.b16 h1, 0x0001; cvt.f32.f16 f0, h1;", 0x33800000},
	{"cvt.rn.bf16.f32 h0, 0f3F808000;", 0x3f80}, // tie to even
	{"cvt.rn.bf16.f32 h0, 0f3F818000;", 0x3f82},
	{"cvt.rn.bf16.f32 h0, 0f7F800001;", 0x7fff},
	{"cvt.rn.bf16x2.f32 r0, 0f40000000, 0f3F800000;", 0x40003f80},
	{"cvt.rn.f16x2.f32 r0, 0f40000000, 0f3F800000;", 0x40003c00},
	{"mov.b16 h1, 0x3f80; cvt.f32.bf16 f0, h1;", 0x3f800000},
	{"cvt.rna.tf32.f32 r0, 0f3F801000;", 0x3f802000},
	{"cvt.rna.tf32.f32 r0, 0f3F800FFF;", 0x3f800000},
	{"cvt.rn.f32.f64 f0, 0d3FF0000010000000;", 0x3f800000},
	{"cvt.f64.f32 g0, 0f3F800000;", 0x3ff0000000000000},
	// Vectors in registers.
	{"mov.b32 r1, 7; mov.b32 r2, 9; mov.b64 d0, {r1, r2};", 0x900000007},
	{"mov.u64 d1, 0x900000007; mov.b64 {r1, r2}, d1; mov.u32 r0, r2;", 9},
	{"mov.b32 r1, 0x12345678; mov.b32 {h1, h2}, r1; mov.b32 r0, {h2, h1};", 0x56781234},
	// Special registers.
	{"mov.u32 r0, %ntid.x;", 1},
	{"mov.u32 r0, %lanemask_ge;", 0xffffffff},
	// Control.
	{"mov.u32 r0, 0; L: add.u32 r0, r0, 3; setp.lt.u32 p1, r0, 10; @p1 bra L; add.u32 r0, r0, 0;", 12},
	{"mov.u32 r1, 1; T: .branchtargets A, B; brx.idx r1, T; A: mov.u32 r0, 5; bra E; B: mov.u32 r0, 6; E: add.u32 r0, r0, 0;", 6},
	{"setp.eq.s32 p1, 1, 2; mov.u32 r0, 1; @!p1 mov.u32 r0, 2; @p1 mov.u32 r0, 3;", 2},
	{"{ .reg .b32 t; mov.u32 t, 4; mov.u32 r1, t; } { .reg .b32 t; mov.u32 t, 5; add.u32 r0, t, r1; }", 9},
	// Atomics.
	{"st.global.u32 [d15+8], 5; atom.global.add.u32 r1, [d15+8], 3; ld.global.u32 r2, [d15+8]; mad.lo.u32 r0, r2, 10, r1;", 85},
	{"st.global.u32 [d15+8], 5; atom.global.cas.b32 r1, [d15+8], 5, 9; ld.global.u32 r0, [d15+8];", 9},
	{"st.global.u32 [d15+8], 5; atom.global.cas.b32 r1, [d15+8], 6, 9; ld.global.u32 r0, [d15+8];", 5},
	{"st.global.u32 [d15+8], -5; red.release.sys.global.max.s32 [d15+8], 3; ld.global.u32 r0, [d15+8];", 3},
	{"st.global.u32 [d15+8], 5; atom.acq_rel.gpu.global.exch.b32 r0, [d15+8], 3;", 5},
	{"mov.b32 r1, 0f3F800000; st.global.u32 [d15+8], r1; red.global.add.f32 [d15+8], 0f3F800000; ld.global.u32 r0, [d15+8];", 0x40000000},
	{"st.global.u32 [d15+8], 0x40003c00; red.global.add.noftz.f16x2 [d15+8], r9; mov.u32 r0, 1;", 1},
	{"st.global.u32 [d15+8], 5; atom.global.inc.u32 r1, [d15+8], 5; ld.global.u32 r0, [d15+8];", 0},
	// Memory.
	{"st.global.u32 [d15+8], 0xff; ld.global.s8 r0, [d15+8];", 0xffffffff},
	{"st.global.v2.u32 [d15+8], {1, 2}; ld.global.u64 d0, [d15+8];", 0x200000001},
	{"st.global.u64 [d15+16], 0x200000001; st.global.u64 [d15+24], 0x400000003; ld.global.v4.u32 {r1, r2, r3, r4}, [d15+16]; mad.lo.u32 r0, r4, 10, r3;", 43},
	{"st.release.sys.global.u32 [d15+8], 6; ld.acquire.sys.global.u32 r0, [d15+8];", 6},
	{".shared .align 4 .b32 s[4]; mov.u64 d1, s; st.shared.u32 [s+4], 11; cvta.shared.u64 d2, d1; ld.u32 r0, [d2+4];", 11},
	{".local .align 8 .b8 q[16]; mov.u64 d1, q; cvta.local.u64 d2, d1; st.u32 [d2+8], 12; ld.local.u32 r0, [q+8];", 12},
	{"cvta.to.global.u64 d1, d15; st.global.u32 [d1+8], 3; ld.u32 r0, [d15+8];", 3},
	{"mov.f32 f1, 0f3F800000; mov.b32 r0, f1;", 0x3f800000},
	{"membar.sys; fence.acq_rel.sys; fence.sc.gpu; mov.u32 r0, 1;", 1},
}

func TestInstructions(t *testing.T) {
	for _, c := range instructions {
		got, err := run1(result(c.code), 0)
		if err != nil {
			t.Errorf("%s: %v", c.code, err)
		} else if got != c.want {
			t.Errorf("%s\n  %#x, want %#x", c.code, got, c.want)
		}
	}
}

func TestInstructionsAssemble(t *testing.T) {
	// One entry each, so that an error names its line.
	var b strings.Builder
	b.WriteString(".version 8.0\n.target sm_90\n.address_size 64\n")
	for i, c := range instructions {
		text := result(c.code)
		text = strings.Replace(text[strings.Index(text, ".visible"):], " k(", fmt.Sprintf(" k%d(", i), 1)
		b.WriteString(strings.ReplaceAll(text, "\n", " ") + "\n")
	}
	_, err := ptxas.Assemble(b.String(), "sm_90")
	if errors.Is(err, ptxas.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestUnknownInstructionsAreErrors(t *testing.T) {
	for _, code := range []string{
		"tex.2d.v4.f32.s32 r0, r1;", "add.rn.s32 r0, r1, r2;", "add.f32.foo f0, f1, f2;", "sin.f32 f0, f1;", "cvt.s32.f32 r0, f0;",
		"cvt.f16.f32 h0, f0;", "mul.s32 r0, r1, r2;", "ld.global.v8.u32 r0, [d1];", "mov.u32 r0, %nonsense;", "bra nowhere;",
		"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {f0}, {r0}, {r1}, {f0};", "shfl.bfly.b32 r0, r1, r2, r3;", "mov.u32 r99, 1;",
		"setp.lt.b32.x p0, r1, r2;", "red.exch.global.b32 [d1], r1;", "add.s32 r0, r1;", "ld.release.sys.global.u32 r0, [d1];",
	} {
		if _, err := Parse(kernel(code)); err == nil {
			t.Errorf("%s was accepted", code)
		} else if e := err.(*Error); e.Line != 6 {
			t.Errorf("%s: line %d: %v", code, e.Line, err)
		}
	}
}
