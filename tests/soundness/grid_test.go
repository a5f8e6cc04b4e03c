package soundness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/lang/source"
	"ptoc/runtime/controller"
	"ptoc/runtime/run"
	"ptoc/tests/ptxrun"
	"ptoc/verify"
	"ptoc/verify/load"
)

// TestProvedProgramsDoNotRaceOnGrids: programs with blocks that are proved run as PTX, on grids where blocks run at
// once, without a race between any two threads; of those that are said to race many do there.
func TestProvedProgramsDoNotRaceOnGrids(t *testing.T) {
	proved, racing, seen := 0, 0, 0
	want := 24
	if testing.Short() {
		want = 6
	}
	for seed := uint64(10_000); proved < want; seed++ {
		text := Program(seed)
		if !strings.Contains(text, "pl.spmd") {
			continue
		}
		u, err := load.Source(source.NewFile("random.pl", text), load.Options{})
		if err != nil {
			continue
		}
		p, err := u.Program(2)
		if err != nil {
			t.Fatal(err)
		}
		r := verify.Check(p, static, []verify.Scope{p.Scope(2, 1, nil)})
		race := reports(r, "E0612", "E0621")
		if r.Status() != verify.Proved && (!race || racing >= want) {
			continue
		}
		file := filepath.Join(t.TempDir(), "random.pl")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		err = onGrid(file, seed)
		switch {
		case errors.Is(err, ptxrun.ErrMissing):
			t.Skip(err)
		case r.Status() == verify.Proved:
			proved++
			if err != nil {
				t.Errorf("seed %d is proved, but on a grid: %v\n%s", seed, err, text)
			}
		default:
			racing++
			if err != nil {
				seen++
			}
		}
	}
	t.Logf("%d proved; %d of %d races seen", proved, seen, racing)
	if seen*2 < racing {
		t.Error("the interpreter sees too few races")
	}
}

// onGrid runs a program as PTX with two ranks and up to three blocks for each.
func onGrid(file string, seed uint64) error {
	cfg := ptxrun.Config{Races: true, Seed: seed, Blocks: 3, Patience: 1e6}
	o := run.Options{File: file, Ranks: 2, Target: "cuda", Open: func(m *ir.Module, ranks int) (controller.Backend, error) {
		return ptxrun.New(m, ranks, cfg)
	}}
	r, err := run.Run(context.Background(), o)
	if err == nil {
		err = r.Err()
	}
	return err
}
