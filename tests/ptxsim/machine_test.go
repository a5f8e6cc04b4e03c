package ptxsim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ptoc/tests/ptxas"
)

// texts are the programs of this file.
var texts = map[string]bool{}

// runBlock runs test code with n threads and returns out as words. d15 is out, r30 the thread, r29 its lane.
func runBlock(t *testing.T, code string, n int, seed uint64) ([]uint32, error) {
	t.Helper()
	text := kernel("ld.param.u64 d15, [out]; mov.u32 r30, %tid.x; mov.u32 r29, %laneid; mul.wide.u32 d14, r30, 4; add.u64 d14, d15, d14;\n" + code)
	texts[text] = true
	m, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	mem := NewMemory()
	out := mem.Alloc("out", 4*1024)
	_, err = m.Launch(Config{Memory: mem, Block: [3]int{n}, Params: binary.LittleEndian.AppendUint64(nil, out), Seed: seed, StepLimit: 1e6, GlobalRaces: true})
	return words(mem.Bytes(out, 4*1024)), err
}

func words(b []byte) []uint32 {
	out := make([]uint32, len(b)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

// good runs code under several schedules and compares what each thread stores from r0.
func good(t *testing.T, code string, n int, want func(i int) uint32) {
	t.Helper()
	for seed := range uint64(5) {
		got, err := runBlock(t, code+"\nst.global.u32 [d14], r0;", n, seed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range n {
			if got[i] != want(i) {
				t.Fatalf("seed %d, thread %d: %#x, want %#x", seed, i, got[i], want(i))
			}
		}
	}
}

// bad expects an error that contains all of the given texts.
func bad(t *testing.T, code string, n int, want ...string) {
	t.Helper()
	for seed := range uint64(5) {
		_, err := runBlock(t, code, n, seed)
		if err == nil {
			t.Fatalf("seed %d: no error, want %q", seed, want)
		}
		for _, w := range append(want, "line ") {
			if !strings.Contains(err.Error(), w) {
				t.Fatalf("seed %d: %v, want %q", seed, err, w)
			}
		}
	}
}

const tile = ".shared .align 16 .b8 s[4096]; mul.wide.u32 d10, r30, 4; mov.u64 d11, s; add.u64 d12, d11, d10;\n"

func TestShuffles(t *testing.T) {
	good(t, "shfl.sync.bfly.b32 r0, r29, 1, 31, -1;", 64, func(i int) uint32 { return uint32(i%32 ^ 1) })
	good(t, "shfl.sync.down.b32 r0|p1, r29, 4, 31, -1; @!p1 mov.u32 r0, 99;", 32, func(i int) uint32 {
		if i >= 28 {
			return 99
		}
		return uint32(i + 4)
	})
	good(t, "shfl.sync.up.b32 r0, r29, 3, 0, -1;", 32, func(i int) uint32 {
		if i < 3 {
			return uint32(i)
		}
		return uint32(i - 3)
	})
	good(t, "shfl.sync.idx.b32 r0, r29, 5, 31, -1;", 32, func(int) uint32 { return 5 })
	// Segments of 8 lanes: c = 0x18 << 8 | 7... and idx stays within them.
	good(t, "shfl.sync.idx.b32 r0, r29, 5, 0x181f, -1;", 32, func(i int) uint32 { return uint32(i&^7 | 5) })
	// Half of the warp.
	good(t, "mov.u32 r0, 1; setp.lt.u32 p1, r29, 16; @p1 shfl.sync.bfly.b32 r0, r29, 8, 31, 0xffff;", 32, func(i int) uint32 {
		if i < 16 {
			return uint32(i ^ 8)
		}
		return 1
	})
	bad(t, "shfl.sync.idx.b32 r0, r29, 20, 31, 0xffff;", 16, "reads lane 20")
	bad(t, "shfl.sync.bfly.b32 r0, r29, 1, 31, -1;", 16, "does not exist")
	bad(t, "shfl.sync.bfly.b32 r0, r29, 1, 31, 0xff;", 32, "not in its own mask")
}

func TestVotesAndReductionsOfAWarp(t *testing.T) {
	good(t, "setp.lt.u32 p1, r29, 4; vote.sync.ballot.b32 r0, p1, -1;", 32, func(int) uint32 { return 15 })
	good(t, "setp.lt.u32 p1, r29, 4; vote.sync.any.pred p2, p1, -1; vote.sync.all.pred p3, !p1, -1; selp.u32 r1, 10, 0, p2; selp.u32 r0, 1, r1, p3;", 32,
		func(int) uint32 { return 10 })
	good(t, "redux.sync.add.s32 r0, r29, -1;", 64, func(int) uint32 { return 31 * 16 })
	good(t, "sub.s32 r1, 5, r29; redux.sync.min.s32 r0, r1, -1;", 32, func(int) uint32 { return 0xffffffe6 })
	good(t, "shr.u32 r1, r29, 3; match.any.sync.b32 r0, r1, -1;", 32, func(i int) uint32 { return 0xff << (i &^ 7) })
	good(t, "activemask.b32 r0; mov.u32 r0, 0;", 32, func(int) uint32 { return 0 })
}

func TestBarriersExchangeSharedMemory(t *testing.T) {
	good(t, tile+"st.shared.u32 [d12], r30; bar.sync 0; xor.b32 r1, r30, 33; mul.wide.u32 d1, r1, 4; add.u64 d1, d11, d1; ld.shared.u32 r0, [d1];", 128,
		func(i int) uint32 { return uint32(i ^ 33) })
	good(t, "setp.lt.u32 p1, r30, 40; bar.red.popc.u32 r0, 0, p1;", 64, func(int) uint32 { return 40 })
	good(t, "setp.lt.u32 p1, r30, 40; bar.red.and.pred p2, 0, p1; selp.u32 r0, 1, 0, p2;", 64, func(int) uint32 { return 0 })
	good(t, tile+"st.shared.u32 [d12], r30; bar.warp.sync -1; xor.b32 r1, r30, 1; mul.wide.u32 d1, r1, 4; add.u64 d1, d11, d1; ld.shared.u32 r0, [d1];", 64,
		func(i int) uint32 { return uint32(i ^ 1) })
	// All threads add to one word.
	good(t, tile+"setp.eq.u32 p1, r30, 0; @p1 st.shared.u32 [s], 0; bar.sync 0; red.shared.add.u32 [s], r30; bar.sync 0; ld.shared.u32 r0, [s];", 64,
		func(int) uint32 { return 63 * 32 })
}

func TestWhatASharedMemoryProgramMayNotDo(t *testing.T) {
	neighbour := "xor.b32 r1, r30, 1; mul.wide.u32 d1, r1, 4; add.u64 d1, d11, d1; ld.shared.u32 r0, [d1];"
	bad(t, tile+"ld.shared.u32 r0, [d12];", 32, "which nobody wrote")
	bad(t, tile+"st.shared.u32 [d12], r30; bar.sync 0; setp.lt.u32 p1, r30, 30; @p1 ld.shared.u32 r0, [d12+4]; st.shared.u32 [d12], r30;", 31, "race on shared")
	bad(t, tile+"st.shared.u32 [s], r30;", 64, "race on shared", "wrote it")
	bad(t, tile+"st.shared.u32 [d12], r30; bar.sync 0; "+neighbour+"bar.warp.sync -1; st.shared.u32 [s+64], r0;", 64, "race on shared")
	bad(t, tile+"st.shared.u32 [s+16384], r30;", 1, "out of range", "shared")
	bad(t, tile+"st.shared.u32 [s+2], r30;", 1, "misaligned")
	bad(t, tile+"add.u64 d12, d12, 1000000; ld.shared.u32 r0, [d12];", 1, "out of range")
	bad(t, tile+"red.shared.add.u32 [s], 1;", 1, "which nobody wrote")
}

func TestWhatAProgramMayNotDoElsewhere(t *testing.T) {
	bad(t, "ld.global.u32 r0, [d15+4096];", 1, "out of range", "out")
	bad(t, "ld.global.u32 r0, [d15+-4];", 1, "out of range")
	bad(t, "ld.global.v4.u32 {r0, r1, r2, r3}, [d15+8];", 1, "misaligned")
	bad(t, "mov.u64 d1, 16; ld.global.u32 r0, [d1];", 1, "out of range")
	bad(t, "mov.u64 d1, 64; ld.local.u32 r0, [d1];", 1, "out of range")
	bad(t, "trap;", 1, "trap")
	bad(t, "div.u32 r0, 1, 0;", 1, "division by zero")
	bad(t, "L: bra L;", 1, "no end after")
	bad(t, ".global .align 4 .b32 zz; st.release.sys.global.u32 [d15], 1; st.global.u64 [d15], d15;", 1, "mixed widths")
	bad(t, "red.release.sys.global.add.u32 [d15], 1; ld.global.u16 h0, [d15];", 1, "mixed widths")
	bad(t, ".const .align 4 .b32 cc = 5; mov.u64 d1, cc; cvta.const.u64 d1, d1; ld.const.u32 r0, [cc]; st.u32 [d1], r0;", 1, "constant")
}

func TestDivergence(t *testing.T) {
	bad(t, "setp.lt.u32 p1, r30, 32; @p1 bar.sync 0;", 64, "divergent barrier")
	bad(t, "setp.lt.u32 p1, r30, 32; @p1 exit; bar.sync 0;", 64, "divergent barrier")
	bad(t, "setp.lt.u32 p1, r30, 32; @p1 bra L; bar.sync 0; bra E; L: bar.sync 0; E: mov.u32 r0, 0;", 64, "divergent barrier")
	bad(t, "setp.lt.u32 p1, r30, 8; @p1 bra L; shfl.sync.idx.b32 r0, r29, 0, 31, -1; bra E; L: shfl.sync.idx.b32 r0, r29, 0, 31, -1; E: mov.u32 r0, 0;", 32, "divergent warp")
	bad(t, "setp.lt.u32 p1, r30, 32; @p1 bra L; bar.sync 0; bra E; L: setp.lt.u32 p1, r30, 8; @p1 shfl.sync.idx.b32 r0, r29, 0, 31, -1; bar.sync 0; E: mov.u32 r0, 0;", 64, "")
}

func TestRacesOnGlobalMemory(t *testing.T) {
	bad(t, "st.global.u32 [d15], r30;", 64, "race on global memory", "wrote it")
	bad(t, "st.global.u32 [d14], r30; ld.global.u32 r0, [d14+4];", 31, "race on global memory")
	good(t, "st.global.u32 [d14], r30; bar.sync 0; xor.b32 r1, r30, 1; mul.wide.u32 d1, r1, 4; add.u64 d1, d15, d1; ld.global.u32 r0, [d1]; bar.sync 0;", 64,
		func(i int) uint32 { return uint32(i ^ 1) })
	// Thread 0 publishes, thread 32 spins: with and without release and acquire.
	spin := func(set, get string) string {
		return "mov.u32 r0, 0; setp.eq.u32 p1, r30, 32; @p1 bra W; setp.ne.u32 p1, r30, 0; @p1 bra E; st.global.u32 [d15+1024], 77; " + set +
			" [d15+2048], 1; bra E; W: " + get + " r1, [d15+2048]; setp.eq.u32 p1, r1, 0; @p1 bra W; ld.global.u32 r0, [d15+1024]; E: mov.u32 r2, 0;"
	}
	want := func(i int) uint32 { return map[int]uint32{32: 77}[i] }
	good(t, spin("red.release.gpu.global.add.u32", "ld.acquire.gpu.global.u32"), 64, want)
	good(t, spin("membar.gl; st.relaxed.gpu.global.u32", "ld.acquire.gpu.global.u32"), 64, want)
	good(t, spin("st.release.sys.global.u32", "ld.acquire.gpu.global.u32"), 64, want)
	bad(t, spin("st.relaxed.gpu.global.u32", "ld.acquire.gpu.global.u32"), 64, "race on global memory")
	bad(t, spin("st.release.gpu.global.u32", "ld.relaxed.gpu.global.u32"), 64, "race on global memory")
	bad(t, spin("st.volatile.global.u32", "ld.volatile.global.u32"), 64, "race on global memory")
}

func TestAsyncCopiesArriveWhenTheyAreWaitedFor(t *testing.T) {
	put := "mad.lo.u32 r1, r30, 3, 1; st.global.u32 [d14], r1; bar.sync 0; mul.wide.u32 d1, r30, 16; add.u64 d2, d11, d1; add.u64 d3, d15, d1; setp.lt.u32 p1, r30, 8; "
	issue := "@p1 cp.async.cg.shared.global [d2], [d3], 16; "
	good(t, tile+put+issue+"cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; ld.shared.u32 r0, [d12];", 32, func(i int) uint32 { return uint32(3*i + 1) })
	good(t, tile+put+issue+"cp.async.wait_all; bar.sync 0; ld.shared.u32 r0, [d12];", 32, func(i int) uint32 { return uint32(3*i + 1) })
	good(t, tile+put+"cp.async.ca.shared.global [d12], [d14], 4, 2; cp.async.wait_all; ld.shared.u32 r0, [d12];", 32, func(i int) uint32 { return uint32(3*i+1) & 0xffff })
	bad(t, tile+put+issue+"cp.async.commit_group; bar.sync 0; ld.shared.u32 r0, [d12];", 32, "cp.async")
	bad(t, tile+put+issue+"cp.async.commit_group; cp.async.wait_group 1; bar.sync 0; ld.shared.u32 r0, [d12];", 32, "cp.async")
	bad(t, tile+put+issue+"cp.async.wait_group 0; bar.sync 0; ld.shared.u32 r0, [d12];", 32, "cp.async") // never committed
	bad(t, tile+put+issue+"cp.async.wait_all; ld.shared.u32 r0, [d12];", 32, "shared")
}

// Four groups of one copy each, of which a thread waits for all but the last two.
func TestLaterGroupsStayInFlight(t *testing.T) {
	put := "mad.lo.u32 r1, r30, 3, 1; st.global.u32 [d14], r1; bar.sync 0; setp.eq.u32 p1, r30, 0; "
	var issue string
	for i := range 4 {
		issue += fmt.Sprintf("@p1 cp.async.ca.shared.global [d11+%d], [d15+%d], 4; cp.async.commit_group; ", 4*i, 4*i)
	}
	read := func(wait, i int) string {
		return fmt.Sprintf("%s%s%scp.async.wait_group %d; bar.sync 0; ld.shared.u32 r0, [d11+%d];", tile, put, issue, wait, 4*i)
	}
	for i := range 4 {
		for wait := range 5 {
			if i+wait < 4 {
				good(t, read(wait, i), 32, func(int) uint32 { return uint32(3*i + 1) })
			} else {
				bad(t, read(wait, i), 32, "while a cp.async of thread 0 still writes it")
			}
		}
	}
}

func TestACopyInFlightKeepsItsSourceAndItsDestination(t *testing.T) {
	start := "st.global.u32 [d14], r30; bar.sync 0; setp.eq.u32 p1, r30, 0; @p1 cp.async.ca.shared.global [d11], [d15], 4; cp.async.commit_group; "
	end := "cp.async.wait_all; bar.sync 0; ld.shared.u32 r0, [d11];"
	good(t, tile+start+end, 32, func(int) uint32 { return 0 })
	good(t, tile+start+"cp.async.wait_group 0; @p1 st.global.u32 [d15], 7; "+end, 32, func(int) uint32 { return 0 })
	bad(t, tile+start+"@p1 st.global.u32 [d15], 7; "+end, 32, "the source of a cp.async", "written before it was waited for")
	bad(t, tile+start+"@p1 st.shared.u32 [d11], 7; "+end, 32, "still writes it")
	bad(t, tile+start+"@p1 cp.async.ca.shared.global [d11], [d15+4], 4; "+end, 32, "still writes it")
}

// Must stand last: it looks at what the tests above ran.
func TestProgramsOfThisFileAssemble(t *testing.T) {
	var b strings.Builder
	b.WriteString(".version 8.0\n.target sm_90\n.address_size 64\n")
	n := 0
	for text := range texts {
		n++
		b.WriteString(strings.Replace(text[strings.Index(text, ".visible"):], " k(", fmt.Sprintf(" k%d(", n), 1))
	}
	_, err := ptxas.Assemble(b.String(), "sm_90")
	if errors.Is(err, ptxas.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Error(err)
	}
}
