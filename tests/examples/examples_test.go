// Package examples runs every program under examples/ in every way that ptoc can run programs.
package examples

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptoc/codegen/toolchain"
	"ptoc/lang/diag"
	"ptoc/passes"
	"ptoc/runtime/native"
	"ptoc/runtime/run"
	"ptoc/runtime/tensor"
)

func TestMain(m *testing.M) {
	native.MaybeWorker()
	os.Exit(m.Run())
}

var rankCounts = []int{1, 2, 3, 4, 5, 8, 16}

// programs are the examples by name.
func programs(t testing.TB) map[string]string {
	out := map[string]string{}
	for _, pattern := range []string{"../../examples/*.pl", "../../examples/course/*.pl"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			out[strings.TrimSuffix(filepath.Base(f), ".pl")] = f
		}
	}
	if len(out) == 0 {
		t.Fatal("no examples")
	}
	return out
}

func mustRun(t testing.TB, o run.Options) *run.Result {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	r, err := run.Run(context.Background(), o)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatal(text(err))
	}
	return r
}

// text is what a user sees of an error.
func text(err error) string {
	l := &diag.List{}
	var one *diag.Diagnostic
	if errors.As(err, &one) {
		l.Add(one)
	} else if !errors.As(err, &l) {
		return err.Error()
	}
	var b strings.Builder
	diag.Render(&b, l, diag.Options{})
	return b.String()
}

func haveCompiler() bool { _, err := toolchain.Find(); return err == nil }

func TestExamplesAreRightEverywhere(t *testing.T) {
	ways := map[string]run.Options{"sim": {Backend: "sim"}}
	if haveCompiler() {
		ways["thread"] = run.Options{Workers: native.Threads}
		ways["process"] = run.Options{Workers: native.Processes}
	}
	for name, file := range programs(t) {
		for way, o := range ways {
			for _, n := range rankCounts {
				t.Run(name+"/"+way+"/"+strconv.Itoa(n), func(t *testing.T) {
					o.File, o.Ranks, o.Check, o.Repeat = file, n, true, 2
					r := mustRun(t, o)
					for _, out := range r.Outputs {
						if out.Status != run.Right {
							t.Errorf("output %s: %s", out.Name, out.Status)
						}
					}
					if !strings.HasPrefix(r.ComparedWith, "golden") {
						t.Errorf("compared with %s", r.ComparedWith)
					}
				})
			}
		}
	}
}

// TestNoPassChangesAResult runs the module of every stage of the pipeline that a simulator can run, and
// wants the same bits from all of them.
func TestNoPassChangesAResult(t *testing.T) {
	stages := stagesFrom("LowerCompositeOps")
	for name, file := range programs(t) {
		t.Run(name, func(t *testing.T) {
			o := run.Options{File: file, Ranks: 3, Backend: "sim"}
			for _, out := range mustRun(t, o).Outputs {
				o.Print = append(o.Print, out.Name)
			}
			want := mustRun(t, o)
			for _, s := range stages {
				o.Until = s
				got := mustRun(t, o)
				for i, p := range got.Printed {
					if !tensor.Equal(p.Tensor, want.Printed[i].Tensor) {
						t.Errorf("until %s: %s differs from what the whole pipeline gives", s, p.Name)
					}
				}
			}
		})
	}
}

// stagesFrom are the passes from the one called first.
func stagesFrom(first string) []string {
	var out []string
	for _, p := range passes.Passes() {
		if p.Name == first || len(out) > 0 {
			out = append(out, p.Name)
		}
	}
	return out
}

// sanitized marks the process into which the sanitizer's runtime is loaded.
const sanitized = "PTOC_TEST_SANITIZED"

func TestExamplesHaveNoDataRace(t *testing.T) {
	if os.Getenv(sanitized) != "" {
		for name, file := range programs(t) {
			t.Run(name, func(t *testing.T) {
				mustRun(t, run.Options{File: file, Ranks: 3, Check: true, Repeat: 2, Sanitize: toolchain.ThreadSanitizer, Timeout: 2 * time.Minute})
			})
		}
		return
	}
	c, err := toolchain.Find()
	if err != nil {
		t.Skip(err)
	}
	lib, err := c.Runtime(toolchain.ThreadSanitizer)
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestExamplesHaveNoDataRace$", "-test.v")
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+lib, "TSAN_OPTIONS=halt_on_error=1", sanitized+"=1")
	out, err := cmd.CombinedOutput()
	switch {
	case strings.Contains(string(out), "unexpected memory mapping"):
		t.Skip("the thread sanitizer does not run on this kernel's address space layout")
	case err != nil || !strings.Contains(string(out), "--- PASS: TestExamplesHaveNoDataRace/allreduce"):
		t.Fatalf("%v\n%s", err, tail(string(out)))
	}
}

// tail is the end of a long output.
func tail(s string) string { return s[max(0, len(s)-6000):] }
