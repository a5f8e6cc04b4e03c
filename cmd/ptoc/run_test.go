package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const doubling = `
@pl.jit.incore
def double(x: pl.Tensor[[4, 8], pl.FP32], y: pl.Out[pl.Tensor[[4, 8], pl.FP32]]):
    pl.store(pl.load(x, [0, 0], [4, 8]) * 2.0, [0, 0], y)

@pl.golden(of=double)
def expected(x, y):
    y[:, :] = x * 2.0
`

// command runs ptoc run in this process.
func command(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Cleanup(func() { jsonErrors = false })
	var out, errs strings.Builder
	root := newRoot(newRun())
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	code = report(&errs, root.ExecuteContext(t.Context()))
	return out.String(), errs.String(), code
}

func TestRunPrintsATableAndExitsByTheResult(t *testing.T) {
	name := filepath.Join(t.TempDir(), "double.pl")
	wrong := filepath.Join(t.TempDir(), "wrong.pl")
	for file, text := range map[string]string{name: doubling, wrong: strings.Replace(doubling, "x * 2.0", "x * 2.5", 1)} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"run", name, "--backend", "sim", "--check"}, 0, "double.pl: double on 1 rank (simulated)"},
		{[]string{"run", name, "--backend", "sim", "--check"}, 0, "golden function expected"},
		{[]string{"run", name, "--backend", "sim", "--print", "y", "--in", "x=full:1.5"}, 0, "y FP32 [4, 8]\n[[3"},
		{[]string{"run", wrong, "--backend", "sim", "--check"}, 1, "error E0730: output y is not what golden function expected gives"},
		{[]string{"run", wrong, "--backend", "sim", "--check"}, 1, "WRONG"},
		{[]string{"run", name, "--backend", "sim", "--in", "xx=iota"}, 1, "error E0703"},
		{[]string{"run", name + "x"}, 1, "error E0701"},
		{[]string{"run", name, "--workers", "fiber"}, 2, "--workers must be thread or process"},
		{[]string{"run"}, 2, "expected one file or folder"},
		{[]string{"run", name, "--rnks", "3"}, 2, "unknown flag"},
		{[]string{"run", name, "--seed", "-1"}, 2, `--seed wants a number, got "-1"`},
		{[]string{"run", name, "-D", "N=1", "-D", "N=2"}, 2, "-D N is given twice"},
	} {
		out, errs, code := command(t, c.args...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%v: exit code %d, want %d; no %q in\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
}

func TestRunSpeaksJSON(t *testing.T) {
	name := filepath.Join(t.TempDir(), "double.pl")
	if err := os.WriteFile(name, []byte(doubling), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _, _ := command(t, "run", name, "--backend", "sim", "--check", "--json")
	var r struct {
		Ranks   int
		Outputs []struct{ Name, Status string }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Ranks != 1 || len(r.Outputs) != 1 || r.Outputs[0].Status != "right" {
		t.Errorf("%v in\n%s", err, out)
	}
	_, errs, code := command(t, "run", name, "--ranks", "99", "--json")
	var list []struct{ Code string }
	if err := json.Unmarshal([]byte(errs), &list); err != nil || code != exitUsage || len(list) != 1 || list[0].Code != "E0704" {
		t.Errorf("exit code %d, %v in\n%s", code, err, errs)
	}
}
