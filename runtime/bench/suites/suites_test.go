package suites

import (
	"os"
	"strings"
	"testing"
	"time"

	"ptoc/codegen/toolchain"
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/runtime/bench"
	"ptoc/runtime/native"
	"ptoc/runtime/run"
)

func TestMain(m *testing.M) {
	native.MaybeWorker()
	os.Exit(m.Run())
}

func needCompiler(t *testing.T) {
	t.Helper()
	tc, err := toolchain.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tc.Compiler(); err != nil {
		t.Skip("skipped: ", err)
	}
}

func text(t *testing.T, table *bench.Table, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	table.WriteText(&b)
	return b.String()
}

// Every algorithm and dtype is measured on right results: the suite itself verifies them.
func TestAllreduceOfEveryModeAndDType(t *testing.T) {
	needCompiler(t)
	for _, mode := range ir.AllReduceModes {
		for _, dt := range []string{"fp32", "bf16"} {
			a := Allreduce{Ranks: []int{3}, Bytes: []bench.Bytes{4, 4 << 10}, DType: dt, Mode: mode, Peer: "none", Time: time.Millisecond}
			table, err := a.Run(t.Context())
			if got := text(t, table, err); !strings.Contains(got, "4K") || !strings.Contains(got, "window that ranks share") {
				t.Errorf("%s %s:\n%s", mode, dt, got)
			}
		}
	}
}

func TestAllreduceRefusesWhatItCannotMeasure(t *testing.T) {
	for _, c := range []struct {
		a    Allreduce
		want string
	}{
		{Allreduce{DType: "fp12", Peer: "none"}, `unknown dtype "fp12"`},
		{Allreduce{DType: "bf16", Peer: "mpi"}, "--peer none"},
		{Allreduce{DType: "fp32", Peer: "none", Bytes: []bench.Bytes{6}}, "no whole number of FP32"},
	} {
		if _, err := c.a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, expected %q", c.a, err, c.want)
		}
	}
}

func TestDispatch(t *testing.T) {
	needCompiler(t)
	table, err := Dispatch(t.Context(), []int{2}, native.Threads, 10*time.Millisecond)
	text(t, table, err)
}

func TestCompileNamesEveryStage(t *testing.T) {
	table, err := Compile(t.Context(), "", check.Options{}, time.Millisecond)
	got := text(t, table, err)
	for _, stage := range []string{"parse", "check", "FuseTileOps", "C++", "front end and passes"} {
		if !strings.Contains(got, stage) {
			t.Errorf("no %s in\n%s", stage, got)
		}
	}
}

func TestParse(t *testing.T) {
	table, err := Parse(t.Context(), []string{"programs/layer.pl"}, 20<<10, time.Millisecond)
	text(t, table, err)
}

func TestProgram(t *testing.T) {
	needCompiler(t)
	table, err := Program(t.Context(), run.Options{File: "../../../examples/allreduce.pl", Ranks: 2}, 1, 5)
	if got := text(t, table, err); !strings.Contains(got, "allreduce at") {
		t.Error(got)
	}
}

// The layer is a program like any other: right on several ranks.
func TestLayerIsRight(t *testing.T) {
	needCompiler(t)
	res, err := run.Run(t.Context(), run.Options{File: "programs/layer.pl", Ranks: 3, Check: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Err(); err != nil {
		t.Error(err)
	}
}
