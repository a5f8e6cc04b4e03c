package ptxsim

import (
	"encoding/binary"
	"strings"
	"testing"
)

// meeting is a rank of several blocks: each thread writes a word, the blocks meet, and the first thread of block 0
// notifies. reader is another rank, which waits for that and reads what all threads wrote.
const meeting = `.version 7.0
.target sm_80
.address_size 64
.visible .entry meeting(.param .u64 base) {
.reg .b32 r<8>; .reg .b64 d<16>; .reg .pred p<4>;
ld.param.u64 d1, [base];
mov.u32 r1, %tid.x; mov.u32 r2, %ctaid.x; mov.u32 r3, %ntid.x; mov.u32 r4, %nctaid.x;
mad.lo.u32 r5, r2, r3, r1;
mul.wide.u32 d2, r5, 4; add.u64 d3, d1, d2;
st.global.u32 [d3+256], r5;
bar.sync 0;
setp.ne.u32 p1, r1, 0;
@p1 bra MET;
COME d4, [d1], 1;
cvt.u64.u32 d5, r4;
SPIN:
SEE d4, [d1];
setp.lt.u64 p2, d4, d5;
@p2 bra SPIN;
MET:
bar.sync 0;
setp.ne.u32 p1, r5, 0;
@p1 bra END;
NOTIFY [d1+64], 1;
END:
ret;
}
.visible .entry reader(.param .u64 base) {
.reg .b32 r<8>; .reg .b64 d<8>; .reg .pred p<2>;
ld.param.u64 d1, [base];
mov.u32 r1, %tid.x;
SPIN:
ld.acquire.sys.global.u32 r2, [d1+64];
setp.lt.s32 p1, r2, 1;
@p1 bra SPIN;
mul.wide.u32 d2, r1, 4; add.u64 d3, d1, d2;
ld.global.u32 r3, [d3+256];
add.u32 r3, r3, 100;
st.global.u32 [d3+2048], r3;
ret;
}
`

func runMeeting(t *testing.T, come, see, notify string, seed uint64) error {
	t.Helper()
	m, err := Parse(strings.NewReplacer("COME", come, "SEE", see, "NOTIFY", notify).Replace(meeting))
	if err != nil {
		t.Fatal(err)
	}
	const blocks, threads = 3, 64
	mem := NewMemory()
	base := mem.Alloc("memory", 4096)
	params := binary.LittleEndian.AppendUint64(nil, base)
	_, err = RunAll([]Launch{
		{Module: m, Config: Config{Entry: "meeting", Name: "rank 0", Grid: [3]int{blocks}, Block: [3]int{threads}, Params: params, Memory: mem, Seed: seed, GlobalRaces: true}},
		{Module: m, Config: Config{Entry: "reader", Name: "rank 1", Block: [3]int{blocks * threads}, Params: params, Memory: mem}},
	})
	for i, w := range words(mem.Bytes(base+2048, 4*blocks*threads)) {
		if err == nil && w != uint32(100+i) {
			t.Errorf("word %d is %d", i, w)
		}
	}
	return err
}

const (
	comes    = "atom.acq_rel.gpu.global.add.u64"
	sees     = "ld.acquire.gpu.global.u64"
	notifies = "red.release.sys.global.add.s32"
)

// A release at system scope covers what blocks of the same device handed on to it at the device's scope.
func TestWhatBlocksHandOnIsReleasedWithTheRest(t *testing.T) {
	for seed := range uint64(20) {
		if err := runMeeting(t, comes, sees, notifies, seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func TestEveryStepFromBlockToRankMustOrder(t *testing.T) {
	for _, w := range [][3]string{
		{strings.Replace(comes, "acq_rel", "relaxed", 1), sees, notifies}, {strings.Replace(comes, "acq_rel", "acquire", 1), sees, notifies},
		{strings.Replace(comes, "gpu", "cta", 1), sees, notifies}, {comes, strings.Replace(sees, "acquire", "relaxed", 1), notifies},
		{comes, strings.Replace(sees, "gpu", "cta", 1), notifies}, {comes, sees, strings.Replace(notifies, "sys", "gpu", 1)},
		{comes, sees, strings.Replace(notifies, "release", "relaxed", 1)},
	} {
		noticed := false
		for seed := uint64(0); seed < 20 && !noticed; seed++ {
			err := runMeeting(t, w[0], w[1], w[2], seed)
			noticed = err != nil && strings.Contains(err.Error(), "race on global memory")
		}
		if !noticed {
			t.Errorf("%v is not noticed", w)
		}
	}
}
