package ptxrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptoc/codegen/abi"
	"ptoc/codegen/toolchain"
	"ptoc/runtime/run"
)

// gridPrograms are tests/grid, with the number of blocks that their kernels can use.
func gridPrograms(t *testing.T) map[string]string {
	files, _ := filepath.Glob("../grid/*.pl")
	if len(files) == 0 {
		t.Fatal("no files")
	}
	out := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "# blocks: ")
		out[file], _, _ = strings.Cut(rest, "\n")
	}
	return out
}

// The blocks of a rank, as many as there may be and the program can use, do together what one does, without a
// race: 1, 2, an odd number that divides nothing, and more than there are iterations.
func TestGrids(t *testing.T) {
	for file, usable := range gridPrograms(t) {
		for i, ranks := range rankCounts(t, file) {
			for _, blocks := range []int{1, 2, 5, 16} {
				t.Run(fmt.Sprintf("%s/ranks=%d/blocks=%d", filepath.Base(file), ranks, blocks), func(t *testing.T) {
					want, err := strconv.Atoi(strings.ReplaceAll(usable, "NR", fmt.Sprint(ranks)))
					if err != nil {
						t.Fatal(err)
					}
					b, r, err := runFile(file, ranks, Config{Races: true, Seed: uint64(i + blocks), Blocks: blocks, Patience: 1e7})
					if errors.Is(err, ErrMissing) {
						t.Skip(err)
					}
					if err != nil {
						t.Fatal(err)
					}
					if bad := wrong(r); bad != "" {
						t.Error(bad)
					}
					if b.Grid != min(blocks, want) {
						t.Errorf("%d blocks, not %d", b.Grid, min(blocks, want))
					}
				})
			}
		}
	}
}

// The same as machine code, where blocks are threads of the system.
func TestGridsAsMachineCode(t *testing.T) {
	for file := range gridPrograms(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			ranks := rankCounts(t, file)
			_, r, err := runFile(file, ranks[len(ranks)-1], Config{Host: true, Blocks: 4})
			if errors.Is(err, ErrMissing) || errors.Is(err, toolchain.ErrNoCompiler) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if bad := wrong(r); bad != "" {
				t.Error(bad)
			}
		})
	}
}

// And on the CPU, where a rank's blocks run one after the other.
func TestGridsOnTheCPU(t *testing.T) {
	for file := range gridPrograms(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r, err := run.Run(context.Background(), run.Options{File: file, Ranks: slices.Max(rankCounts(t, file)), Check: true})
			if errors.Is(err, toolchain.ErrNoCompiler) {
				t.Skip(err)
			}
			if err == nil {
				err = r.Err()
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// What blocks do when they meet can be trusted if the interpreter notices weaker orders and scopes, and a meeting
// that a block does not wait at.
func TestMutantsOfMeetingsAreNoticed(t *testing.T) {
	const file, ranks = "../../examples/blocks.pl", 2
	plain, _, err := runFile(file, ranks, Config{Races: true})
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range [][2]string{{"atom.acq_rel.gpu.global.add", "atom.relaxed.gpu.global.add"}, {"atom.acq_rel.gpu.global.add", "atom.acquire.gpu.global.add"},
		{"atom.acq_rel.gpu.global.add", "atom.acq_rel.cta.global.add"}, {"ld.acquire.gpu", "ld.relaxed.gpu"}, {"ld.acquire.gpu", "ld.acquire.cta"},
		{"red.release.sys", "red.release.gpu"}} {
		if !strings.Contains(plain.Text, m[0]) {
			t.Fatalf("no %s in the kernel", m[0])
		}
		noticed := false
		for seed := uint64(0); seed < 4 && !noticed; seed++ {
			_, r, err := runFile(file, ranks, Config{Races: true, StepLimit: 1e8, Seed: seed, Edit: func(s string) string { return strings.ReplaceAll(s, m[0], m[1]) }})
			noticed = err != nil || wrong(r) != ""
		}
		if !noticed {
			t.Errorf("%s instead of %s is not noticed", m[1], m[0])
		}
	}
	// Each meeting stands where one block comes upon what another one did.
	all := strings.Count(plain.Text, "atom.acq_rel.gpu")
	for i := range all {
		noticed := false
		for seed := uint64(0); seed < 6 && !noticed; seed++ {
			_, r, err := runFile(file, ranks, Config{Races: true, StepLimit: 1e8, Seed: seed, Edit: func(s string) string { return skipMeeting(s, i) }})
			noticed = err != nil || wrong(r) != ""
		}
		if !noticed {
			t.Errorf("nobody notices that blocks do not wait at meeting %d of %d", i+1, all)
		}
	}
}

// skipMeeting lets blocks go on at the i-th meeting: of those that must have come, it looks for none.
func skipMeeting(text string, i int) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if strings.Contains(line, "atom.acq_rel.gpu") {
			i--
			inside = i == -1
		}
		if inside && strings.Contains(line, "ld.acquire.gpu") {
			at := strings.Index(line, "%rd")
			reg, _, _ := strings.Cut(line[at:], ",")
			line = fmt.Sprintf("\tmov.u64 %s, -1;\n", reg)
			inside = false
		}
		b.WriteString(line)
	}
	return b.String()
}

// A block that starts when another one has failed does not run, as a whole: no thread waits for one that left.
func TestAFaultEndsBlocksAsAWhole(t *testing.T) {
	const text = `import ptoc.language as pl

@pl.jit.incore
def step(y: pl.Out[pl.Tensor[[8, 256], pl.FP32]], k: pl.Scalar[pl.INDEX]):
    y = pl.write(y, [8 + k, 0], 1.0)
    for b in pl.spmd(8):
        y = pl.store(pl.full([1, 256], pl.FP32, 1.0), [b, 0], y)
    return y

@pl.jit.host
def main(y: pl.Out[pl.Tensor[[8, 256], pl.FP32]]):
    for r in pl.range(pld.world_size()):
        step(y, r, device=r)
`
	file := filepath.Join(t.TempDir(), "fault.pl")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(30) {
		_, _, err := runFile(file, 1, Config{Races: true, Seed: seed, Blocks: 6})
		if errors.Is(err, ErrMissing) {
			t.Skip(err)
		}
		if err == nil || !strings.Contains(err.Error(), "E0710") {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// A kernel whose host is gone, so that nobody sets the abort word, ends: where it waits, and where its blocks meet.
func TestWaitsEndWithoutAHost(t *testing.T) {
	const text = `import ptoc.language as pl
import ptoc.distributed as pld

@pl.jit.incore
def step(y: pl.InOut[pl.Tensor[[4, 8], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]]):
    for b in pl.spmd(4):
        pld.wait(s, [b, 0], b // 3)
    for b in pl.spmd(4):
        y = pl.store(pl.load(y, [b, 0], [1, 8]) + 1.0, [b, 0], y)

@pl.jit.host
def main(y: pl.InOut[pl.Tensor[[4, 8], pl.FP32]]):
    buf = pld.alloc_window_buffer([4, 1], dtype=pl.INT32)
    step(y, pld.window(buf, [4, 1], dtype=pl.INT32), device=0)
`
	file := filepath.Join(t.TempDir(), "alone.pl")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b, _, err := runFile(file, 1, Config{Blocks: 4, Alone: 20_000})
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if code := abi.Code(b.get(b.fault[0], 4)); err == nil || code != abi.TimedOut {
		t.Errorf("%v: %v", code, err)
	}
}
