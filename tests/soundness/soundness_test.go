package soundness

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/lang/source"
	"ptoc/runtime/controller"
	"ptoc/runtime/sim"
	"ptoc/runtime/tensor"
	"ptoc/verify"
	_ "ptoc/verify/dynamic"
	"ptoc/verify/load"
)

var static = []string{"bounds", "signals", "order", "cores"}

const schedules = 24

// TestVerdictsOfRandomProgramsAreTrue: what is proved gives the same outputs in every schedule and never hangs,
// and neither dynamic layer finds a fault in it; where a wait is said to be lost or part of a circle, every
// schedule hangs; a race that is reported, of ranks or of blocks, is found by a dynamic layer too.
func TestVerdictsOfRandomProgramsAreTrue(t *testing.T) {
	count, first := 300, uint64(1)
	if testing.Short() {
		count = 60
	}
	if s, err := strconv.ParseUint(os.Getenv("PTOC_SEED"), 10, 64); err == nil {
		first, count = s, 1
	}
	tally := map[string]int{}
	for seed := first; seed < first+uint64(count); seed++ {
		for _, n := range []int{2, 3} {
			one(t, seed, n, tally)
		}
	}
	t.Log(tally)
	if tally["refused by the checker"]*50 > count {
		t.Error("the checker refuses too many programs")
	}
	if count > 1 && (tally["proved"] < count/4 || tally["counterexample"] < count/4) {
		t.Error("the programs are too much alike")
	}
}

func one(t *testing.T, seed uint64, n int, tally map[string]int) {
	text := Program(seed)
	u, err := load.Source(source.NewFile("random.pl", text), load.Options{})
	if err != nil {
		tally["refused by the checker"]++
		return
	}
	p, err := u.Program(n)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, text)
	}
	s := []verify.Scope{p.Scope(n, 1, nil)}
	r := verify.Check(p, static, s)
	tally[r.Status().String()]++
	hangs, outcomes := runs(t, p, n)
	dynamic := verify.Check(p, []string{"memory", "schedules"}, s)
	complain := func(what string) {
		t.Errorf("seed %d, %d ranks: %s, but %s\n%s", seed, n, summary(r), what, text)
	}
	switch {
	case r.Status() == verify.Proved && hangs > 0:
		complain(fmt.Sprintf("%d of %d schedules hang", hangs, schedules))
	case r.Status() == verify.Proved && outcomes > 1:
		complain(fmt.Sprintf("%d schedules have %d different outputs", schedules, outcomes))
	case r.Status() == verify.Proved && dynamic.Status() == verify.Counterexample:
		complain("the dynamic layers say " + summary(dynamic))
	case reports(r, "E0605", "E0606") && (hangs == 0 || hangs < schedules && !strings.Contains(text, "WaitCmp.Eq")): // which may be missed
		complain(fmt.Sprintf("%d of %d schedules hang", hangs, schedules))
	case r.Status() != verify.Counterexample && (hangs > 0 || outcomes > 1):
		tally["not checked, and wrong"]++
	case r.Status() == verify.Counterexample && hangs == 0 && outcomes == 1:
		tally["counterexample that needs a rare schedule or weak memory"]++
	}
	if reports(r, "E0612", "E0621") && dynamic.Status() != verify.Counterexample && outcomes <= 1 {
		complain("the dynamic layers say " + summary(dynamic))
	}
}

func reports(r *verify.Report, codes ...string) bool {
	for _, f := range r.Findings() {
		for _, c := range codes {
			if f.Code.String() == c {
				return true
			}
		}
	}
	return false
}

func summary(r *verify.Report) string {
	s := r.Status().String()
	for _, f := range r.Findings() {
		s += fmt.Sprintf("; %s at line %d: %s", f.Code, f.At.Pos().Line, f.Message)
	}
	for _, v := range r.Verdicts {
		if v.Status == verify.NotChecked {
			s += "; " + v.Layer + ": " + v.Reason
		}
	}
	return s
}

// runs counts the schedules that hang, and the different outputs of the others.
func runs(t *testing.T, p *verify.Program, n int) (hangs, outcomes int) {
	seen := map[string]bool{}
	for k := range schedules {
		out, err := once(p, n, uint64(k))
		if err != nil {
			hangs++
			continue
		}
		seen[out] = true
	}
	return hangs, len(seen)
}

// once runs a program on the simulator in a random schedule.
func once(p *verify.Program, n int, seed uint64) (string, error) {
	var sched sim.Scheduler = sim.NewRandom(seed)
	if seed%3 == 2 {
		sched = &bursts{r: sim.NewRandom(seed)}
	}
	b, err := controller.NewSim(sim.Config{Ranks: n, Scheduler: sched, StepLimit: 200_000})
	if err != nil {
		return "", err
	}
	entry := p.Lowered.Func(p.Entry)
	prog, err := controller.Prepare(p.Lowered, entry, b, map[string]int64{"NR": int64(n)})
	if err != nil {
		return "", err
	}
	var args []any
	var out *tensor.Tensor
	for _, prm := range entry.Params() {
		x, err := prog.NewTensor(prm.Name, ir.FP32, []int64{int64(n), 4, 4})
		if err != nil {
			return "", err
		}
		verify.FillGiven(x.Tensor, prm.Name, 0)
		args, out = append(args, x), x.Tensor
	}
	if err := prog.Run(context.Background(), args); err != nil {
		return "", err
	}
	return string(out.Data), nil
}

// bursts lets a rank run for a while before another one is chosen.
type bursts struct {
	r    *sim.Random
	left int
}

func (b *bursts) Pick(runnable []int, current int) int {
	for _, k := range runnable {
		if k == current && b.left > 0 {
			b.left--
			return k
		}
	}
	b.left = 40
	return b.r.Pick(runnable, current)
}
