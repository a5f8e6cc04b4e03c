package ptxsim

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
)

// What llc makes of testdata/llvm.ll, optimised and not.
func TestLLVMOutputRuns(t *testing.T) {
	for _, name := range []string{"testdata/llvm.ptx", "testdata/llvm_o0.ptx"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(string(text))
		if err != nil {
			t.Fatal(name, err)
		}
		mem := NewMemory()
		out, data := mem.Alloc("out", 512), mem.Alloc("data", 16)
		for i := range uint64(4) {
			putUint(mem.Bytes(data+4*i, 4), 4, uint64(f32bits(float32(1000*(i+1)))))
		}
		params := binary.LittleEndian.AppendUint64(nil, out)
		params = binary.LittleEndian.AppendUint64(params, data)
		params = append(params, 200, 0, 0, 0)
		params = binary.LittleEndian.AppendUint32(params, 50)
		params = append(params, 0, 0x40) // half 2.0
		if _, err := m.Launch(Config{Entry: "k", Memory: mem, Block: [3]int{32}, Params: params, GlobalRaces: true}); err != nil {
			t.Fatal(name, err)
		}
		got := words(mem.Bytes(out, 512))
		for i := range 32 {
			l := i ^ 1
			y := l*l + 2
			if i&1 != 0 {
				y = i
			}
			want := (y + 7 + 5 - l) + 3*i + 1000*(i%4+1) + 10*(i%4+1) + []int{100, 7, -3, 12}[i%4] + []int{i, 50, 3, 4}[i%4] + 200
			if int32(got[i]) != int32(want) {
				t.Errorf("%s: thread %d: %d, want %d", name, i, int32(got[i]), want)
			}
		}
		if got[64] != 31*16 {
			t.Errorf("%s: sum %d", name, got[64])
		}
	}
}

// ring is one rank of a program: it writes its number to the next rank, notifies it, and waits for its
// own. Parameters: window of every rank, the rank, how many there are.
func ring(notify, wait string) string {
	return `.version 7.0
.target sm_80
.address_size 64
.visible .entry ring(.param .u64 base, .param .u32 rank, .param .u32 n) {
.reg .b32 r<16>; .reg .b64 d<16>; .reg .pred p<4>;
ld.param.u64 d1, [base]; ld.param.u32 r1, [rank]; ld.param.u32 r2, [n];
mov.u32 r3, %tid.x;
add.u32 r4, r1, 1; rem.u32 r4, r4, r2;
mul.wide.u32 d2, r4, 8; add.u64 d2, d1, d2; ld.global.u64 d3, [d2];   // the next rank's window
mul.wide.u32 d2, r1, 8; add.u64 d2, d1, d2; ld.global.u64 d4, [d2];   // our own
mul.wide.u32 d5, r3, 4; add.u64 d6, d3, d5; add.u64 d7, d4, d5;
mad.lo.u32 r5, r1, 1000, r3;
st.global.u32 [d6+256], r5;
bar.sync 0;
setp.ne.u32 p1, r3, 0;
@p1 bra JOIN;
` + notify + ` [d3], 1;
SPIN:
` + wait + ` r6, [d4];
setp.lt.s32 p2, r6, 1;
@p2 bra SPIN;
JOIN:
bar.sync 0;
ld.global.u32 r7, [d7+256];
st.global.u32 [d7+1024], r7;
ret;
}
`
}

func runRing(t *testing.T, text string, n int, seed uint64) (*Memory, []uint64, error) {
	t.Helper()
	m, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	mem := NewMemory()
	table := mem.Alloc("table", 8*n)
	var bases []uint64
	var ls []Launch
	for i := range n {
		b := mem.Alloc(fmt.Sprintf("window of rank %d", i), 2048)
		bases = append(bases, b)
		putUint(mem.Bytes(table+8*uint64(i), 8), 8, b)
		params := binary.LittleEndian.AppendUint64(nil, table)
		params = binary.LittleEndian.AppendUint32(params, uint32(i))
		params = binary.LittleEndian.AppendUint32(params, uint32(n))
		ls = append(ls, Launch{Module: m, Config: Config{Name: fmt.Sprintf("rank %d", i), Memory: mem, Block: [3]int{64}, Params: params,
			Seed: seed, StepLimit: 1e6, GlobalRaces: true}})
	}
	_, err = RunAll(ls)
	return mem, bases, err
}

func TestRanksSignalEachOther(t *testing.T) {
	for seed := range uint64(8) {
		const n = 4
		mem, bases, err := runRing(t, ring("red.release.sys.global.add.s32", "ld.acquire.sys.global.u32"), n, seed)
		if err != nil {
			t.Fatal(err)
		}
		for r, b := range bases {
			for i := range uint64(64) {
				want := uint64((r+n-1)%n*1000) + i
				if got := getUint(mem.Bytes(b+1024+4*i, 4), 4); got != want {
					t.Fatalf("seed %d, rank %d, word %d: %d, want %d", seed, r, i, got, want)
				}
			}
		}
	}
}

func TestBetweenRanksOnlySystemScopeOrders(t *testing.T) {
	for _, c := range []struct{ notify, wait, want string }{
		{"red.release.gpu.global.add.s32", "ld.acquire.sys.global.u32", "race on global memory"},
		{"red.release.sys.global.add.s32", "ld.acquire.gpu.global.u32", "race on global memory"},
		{"red.relaxed.sys.global.add.s32", "ld.acquire.sys.global.u32", "race on global memory"},
		{"red.release.sys.global.add.s32", "ld.relaxed.sys.global.u32", "race on global memory"},
		{"st.global.u32", "ld.acquire.sys.global.u32", "race on global memory"},
		{"red.release.sys.global.add.s32", "ld.acquire.sys.global.u16", "mixed widths"},
	} {
		_, _, err := runRing(t, ring(c.notify, c.wait), 4, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "rank ") {
			t.Errorf("%s, %s: %v, want %q", c.notify, c.wait, err, c.want)
		}
	}
}

func TestEverybodyWaitsIsAnError(t *testing.T) {
	text := strings.Replace(ring("red.release.sys.global.add.s32", "ld.acquire.sys.global.u32"), "r6, 1;", "r6, 2;", 1)
	if _, _, err := runRing(t, text, 2, 0); err == nil || !strings.Contains(err.Error(), "no end after") {
		t.Errorf("%v", err)
	}
}

func TestLaunchesThatDoNotFitAreErrors(t *testing.T) {
	m, err := Parse(strings.Replace(kernel(""), ") {", ") .maxntid 64, 1, 1 {", 1))
	if err != nil {
		t.Fatal(err)
	}
	mem := NewMemory()
	for want, c := range map[string]Config{
		"no such kernel":      {Entry: "x", Memory: mem},
		"bytes of parameters": {Memory: mem},
		".maxntid":            {Memory: mem, Params: make([]byte, 8), Block: [3]int{128}},
		"no memory":           {Params: make([]byte, 8)},
		"2048 threads":        {Memory: mem, Params: make([]byte, 8), Block: [3]int{1024, 2}},
	} {
		if _, err := m.Launch(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestDynamicSharedMemoryAndGrids(t *testing.T) {
	text := `.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dyn[];
.visible .entry k(.param .u64 out) {
.reg .b32 r<16>; .reg .b64 d<16>;
.shared .align 4 .b32 x;
ld.param.u64 d1, [out];
mov.u32 r1, %ctaid.x; mov.u32 r2, %ctaid.y; mov.u32 r3, %nctaid.x; mad.lo.u32 r4, r2, r3, r1;
mov.u32 r5, %dynamic_smem_size;
st.shared.u32 [x], r4; st.shared.u32 [dyn], r5;
ld.shared.u32 r6, [x]; ld.shared.u32 r7, [dyn]; add.u32 r6, r6, r7;
mul.wide.u32 d2, r4, 4; add.u64 d2, d1, d2;
st.global.u32 [d2], r6;
ret;
}
`
	m, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	mem := NewMemory()
	out := mem.Alloc("out", 24)
	if _, err := m.Launch(Config{Memory: mem, Grid: [3]int{3, 2}, Shared: 256, Params: binary.LittleEndian.AppendUint64(nil, out)}); err != nil {
		t.Fatal(err)
	}
	for i, w := range words(mem.Bytes(out, 24)) {
		if w != uint32(256+i) {
			t.Errorf("block %d: %d", i, w)
		}
	}
}

func BenchmarkInstructions(b *testing.B) {
	m, _ := Parse(kernel("mov.u32 r0, 0; mov.f32 f1, 0f3F800000; mov.f32 f0, f1; L: add.u32 r0, r0, 1; fma.rn.f32 f0, f0, f1, f1; setp.lt.u32 p1, r0, 10000; @p1 bra L;"))
	mem := NewMemory()
	params := binary.LittleEndian.AppendUint64(nil, mem.Alloc("out", 8))
	var steps int64
	for b.Loop() {
		st, err := m.Launch(Config{Memory: mem, Block: [3]int{32}, Params: params})
		if err != nil {
			b.Fatal(err)
		}
		steps += st.Steps
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds()/1e6, "Minstr/s")
}
