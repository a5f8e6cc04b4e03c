package gpu

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptoc/codegen/abi"
	"ptoc/codegen/bundle"
	"ptoc/runtime/cuda"
	"ptoc/runtime/failure"
	"ptoc/runtime/run"
	"ptoc/tests/cudasim"
)

const rows = "../grid/rows.pl" // a loop of seven blocks

// blocksOf runs a program and returns the blocks that each launch gave a rank.
func blocksOf(t *testing.T, file string, ranks int, d *cudasim.Driver) (blocks []int, err error) {
	t.Helper()
	d.StepLimit = 1e9
	r, err := run.Run(context.Background(), run.Options{File: file, Ranks: ranks, Target: "cuda", Driver: d, Check: true, Timeout: time.Second})
	skipWithoutLLVM(t, err)
	if err == nil {
		err = r.Err()
	}
	for _, l := range d.Launches {
		blocks = append(blocks, l.Blocks)
	}
	return blocks, err
}

// A rank gets the blocks that it can use, as far as its share of the GPU goes, and one if nothing more is free.
func TestRanksShareTheBlocksOfAGPU(t *testing.T) {
	for _, c := range []struct{ ranks, sms, per, want int }{
		{1, 8, 16, 7}, {1, 2, 2, 4}, {2, 8, 16, 7}, {2, 5, 1, 2}, {3, 5, 4, 6}, {8, 5, 4, 2}, {8, 4, 2, 1}, {7, 4, 2, 1},
	} {
		d := &cudasim.Driver{SMs: c.sms, BlocksPerSM: c.per, Races: true}
		got, err := blocksOf(t, rows, c.ranks, d)
		if err != nil {
			t.Fatal(show(err))
		}
		if len(got) != 1 || got[0] != c.want || !d.Launches[0].Cooperative {
			t.Errorf("%d ranks on %d multiprocessors of %d blocks: %v blocks each, not %d", c.ranks, c.sms, c.per, got, c.want)
		}
	}
	_, err := blocksOf(t, rows, 9, &cudasim.Driver{SMs: 4, BlocksPerSM: 2})
	wants(t, err, "E0741", "9 ranks do not fit onto interpreter 0 at once", "holds 8", "at most 8 ranks")
}

func TestARankWithItsOwnGPUHasAllOfIt(t *testing.T) {
	d := &cudasim.Driver{GPUs: 3, SMs: 4, BlocksPerSM: 1}
	got, err := blocksOf(t, rows, 3, d)
	if err != nil {
		t.Fatal(show(err))
	}
	for _, n := range got {
		if n != 4 {
			t.Errorf("%v blocks", got)
		}
	}
}

// Every program with blocks, on GPUs of which each rank gets much, little, or one block's room.
func TestGridsRunOnGPUs(t *testing.T) {
	files, _ := filepath.Glob("../grid/*.pl")
	for _, file := range append(files, "../../examples/blocks.pl") {
		for _, ranks := range []int{2, 3} {
			for _, sms := range []int{1, 5, 16} {
				t.Run(fmt.Sprintf("%s/ranks=%d/multiprocessors=%d", filepath.Base(file), ranks, sms), func(t *testing.T) {
					if _, err := blocksOf(t, file, ranks, &cudasim.Driver{SMs: sms, BlocksPerSM: 3, Races: true, Seed: uint64(sms)}); err != nil {
						t.Fatal(show(err))
					}
				})
			}
		}
	}
}

// Rank 0 sends in blocks, rank 1 waits in blocks: different kernels, which share the GPU.
const sides = `N = 6

@pl.jit.incore
def send(x: pl.Tensor[[N, 8], pl.FP32], d: pl.InOut[pld.DistributedTensor[[N, 8], pl.FP32]],
         s: pl.InOut[pld.DistributedTensor[[N, 1], pl.INT32]]):
    for b in pl.spmd(N):
        pld.tile.remote_store(pl.load(x, [b, 0], [1, 8]), d, peer=1, offsets=[b, 0])
        pld.system.notify(s, 1, [b, 0], 1)

@pl.jit.incore
def take(y: pl.Out[pl.Tensor[[N, 8], pl.FP32]], d: pl.InOut[pld.DistributedTensor[[N, 8], pl.FP32]],
         s: pl.InOut[pld.DistributedTensor[[N, 1], pl.INT32]]):
    for b in pl.spmd(N):
        pld.system.wait(s, [b, 0], 1)
        pl.store(pl.load(d, [b, 0], [1, 8]), [b, 0], y)

@pl.jit.host
def main(x: pl.Tensor[[N, 8], pl.FP32], y: pl.Out[pl.Tensor[[N, 8], pl.FP32]]):
    d_buf = pld.alloc_window_buffer([N, 8], dtype=pl.FP32)
    s_buf = pld.alloc_window_buffer([N, 1], dtype=pl.INT32)
    d = pld.window(d_buf, [N, 8], dtype=pl.FP32)
    s = pld.window(s_buf, [N, 1], dtype=pl.INT32)
    take(y, d, s, device=1)
    send(x, d, s, device=0)

@pl.golden(of=main)
def expected(x, y):
    y[:, :] = x
`

func TestDifferentKernelsShareTheBlocksOfAGPU(t *testing.T) {
	for _, c := range []struct{ sms, per, want int }{{16, 4, 6}, {2, 4, 4}, {3, 1, 1}, {1, 2, 1}} {
		d := &cudasim.Driver{SMs: c.sms, BlocksPerSM: c.per, Races: true}
		mustRun(t, sides, 2, d)
		for _, l := range d.Launches {
			if l.Blocks != c.want || l.Cooperative {
				t.Errorf("%d multiprocessors of %d blocks: %+v, not %d blocks", c.sms, c.per, l, c.want)
			}
		}
	}
}

func TestBundlesKeepTheirGrids(t *testing.T) {
	for _, file := range []string{rows, "../grid/crossing.pl", "../grid/large.pl", "../grid/guarded.pl"} {
		a, _, err := run.Build(context.Background(), run.BuildOptions{File: file, Target: "cuda"})
		skipWithoutLLVM(t, err)
		if err != nil {
			t.Fatal(show(err))
		}
		dir := filepath.Join(t.TempDir(), "b")
		if err := bundle.Write(dir, a); err != nil {
			t.Fatal(err)
		}
		want, err := blocksOf(t, file, 2, &cudasim.Driver{SMs: 5, BlocksPerSM: 2})
		if err != nil {
			t.Fatal(show(err))
		}
		got, err := blocksOf(t, dir, 2, &cudasim.Driver{SMs: 5, BlocksPerSM: 2, Races: true})
		if err != nil {
			t.Fatal(show(err))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || want[0] < 2 {
			t.Errorf("%s: %v blocks from the bundle, %v from the program", file, got, want)
		}
	}
}

// A kernel by hand that stores how many blocks it has, and the bytes from one block's scratch to the next's.
const census = `.version 7.0
.target sm_80
.address_size 64

.visible .entry census(.param .u64 launch)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<6>;
	ld.param.u64 %rd1, [launch];
	ld.global.u64 %rd2, [%rd1];
	ld.global.u64 %rd3, [%rd1+8];
	ld.global.u64 %rd4, [%rd3];
	mov.u32 %r1, %nctaid.x;
	st.relaxed.sys.global.u32 [%rd4], %r1;
	ld.global.u64 %rd5, [%rd2+16];
	st.relaxed.sys.global.u64 [%rd4+8], %rd5;
	ret;
}
`

// Where the scratch of all blocks does not fit, there are fewer; where that of one does not, it is refused.
func TestTooLittleMemoryForScratchMeansFewerBlocks(t *testing.T) {
	const mb = 1 << 20 // of the interpreter's 1024
	for _, c := range []struct{ arena, common, blocks int64 }{{1, 0, 16}, {100, 100, 8}, {600, 100, 1}, {600, 600, 0}} {
		e, err := cuda.Open(cuda.Config{Driver: &cudasim.Driver{}, Ranks: 1, PTX: census, Kernels: []cuda.Kernel{{Name: "census", Symbol: "census", Threads: 1,
			Writes: []bool{true}, Demand: func([]int64) (cuda.Demand, error) {
				return cuda.Demand{Blocks: 16, Arena: c.arena * mb, Common: c.common * mb}, nil
			}}}})
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.Alloc(16)
		if err != nil {
			t.Fatal(err)
		}
		e.Submit(0, 0, []abi.Arg{{Tag: abi.TagHeap, Value: b.Addr}})
		err = e.Wait(context.Background())
		if c.blocks == 0 {
			var f *failure.Failure
			if !errors.As(err, &f) || f.Ranks[0].Code != abi.NoMemory || f.Ranks[0].V[0] != (c.arena+c.common)*mb || f.Ranks[0].Kernel != "census" {
				t.Errorf("%v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if int64(b.Data[0]) != c.blocks || int64(b.Data[8+2])|int64(b.Data[8+3])<<8 != c.arena<<4 {
			t.Errorf("%d MB for each block and %d for all: %v, not %d blocks", c.arena, c.common, b.Data, c.blocks)
		}
	}
}

// Blocks that wait side by side: the report is of one of them, cell and value alike, even if the first to say what it
// waits for got it.
func TestTheReportIsOfOneBlock(t *testing.T) {
	const text = `@pl.jit.incore
def step(sig: pl.InOut[pld.DistributedTensor[[8, 1], pl.INT32]], me: pl.Scalar[pl.INDEX]):
    if me == 0:
        for b in pl.spmd(4):
            pld.system.wait(sig, [b, 0], b + 5)
    else:
        i = 0
        while i < 300:
            i = i + 1
        pld.system.notify(sig, 0, [i - 300, 0], 5)
        pld.system.notify(sig, 0, [1 + i - 300, 0], 6)

@pl.jit.host
def main():
    s_buf = pld.alloc_window_buffer([8, 1], dtype=pl.INT32)
    sig = pld.window(s_buf, [8, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(sig, r, device=r)
`
	for seed := range uint64(6) {
		_, err := program(t, text, 2, &cudasim.Driver{Seed: seed, NsPerStep: 1000})
		if err == nil {
			t.Fatal("no error")
		}
		m := regexp.MustCompile(`sig\[(\d), 0\] is 0, expected >= (\d)`).FindStringSubmatch(show(err))
		if m == nil || m[1] != "2" && m[1] != "3" || m[2][0] != m[1][0]+5 || !strings.Contains(show(err), "E0720") {
			t.Errorf("seed %d: %q in\n%s", seed, m, show(err))
		}
	}
}

// One block turns for ever, the others wait for it where blocks meet: the report is of the loop, not of the meeting.
func TestABlockThatTurnsForEverIsReported(t *testing.T) {
	const text = `NR = pl.dynamic("NR")

@pl.jit.incore
def step(y: pl.InOut[pl.Tensor[[4, 8], pl.FP32]], sig: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]]):
    for b in pl.spmd(4):
        if b == 2:
            n = pl.read(sig, [b, 0])
            while n < 5:
                n = pl.read(sig, [b, 0])
    for b in pl.spmd(4):
        y = pl.store(pl.load(y, [3 - b, 0], [1, 8]), [3 - b, 0], y)
        pld.system.notify(sig, 0, [b, 0], 1)

@pl.jit.host
def main(y: pl.InOut[pl.Tensor[[NR, 4, 8], pl.FP32]]):
    s_buf = pld.alloc_window_buffer([4, 1], dtype=pl.INT32)
    sig = pld.window(s_buf, [4, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        step(y[r], sig, device=r)
`
	line := strings.Count(text[:strings.Index(text, "while")], "\n") + 1
	for seed := range uint64(4) {
		_, err := program(t, text, 2, &cudasim.Driver{Seed: seed, NsPerStep: 1000})
		if err == nil {
			t.Fatal("no error")
		}
		wants(t, err, "E0721", "rank 0 runs step without an end", fmt.Sprintf(".pl:%d:", line))
	}
}

// Scratch that no GPU has is the kernel's fault, as on the CPU; what a kernel would divide by 0 for, it reports itself.
func TestScratchThatCannotBeIsAFault(t *testing.T) {
	const text = `@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[8], pl.FP32]], k: pl.Scalar[pl.INDEX]):
    t = pl.create_tensor([k, 100 // k], dtype=pl.FP32)
    u = pl.create_tensor([k, 3], dtype=pl.FP32)
    for b in pl.spmd(8):
        u = pl.write(u, [b, 1], pl.read(t, [k - 1, 0]))
        y = pl.write(y, [b], pl.read(u, [b, 1]))

@pl.jit.host
def main(y: pl.Out[pl.Tensor[[8], pl.FP32]], k: pl.Scalar[pl.INDEX]):
    step(y, k, device=0)
`
	for k, want := range map[string]string{"50": "", "0": "E0714", "-3": "E0715", "100000000000": "E0718", "3074457345618258603": "E0718"} {
		_, err := program(t, text, 1, &cudasim.Driver{}, func(o *run.Options) { o.Ins, o.Check = []string{"k=" + k}, false })
		if want == "" {
			if err != nil {
				t.Error(show(err))
			}
			continue
		}
		wants(t, err, want, "rank 0")
	}
}
