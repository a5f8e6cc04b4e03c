package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const optProgram = `@pl.jit.incore
def step(x: pl.InOut[pl.Tensor[[4, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
    dead = pl.load(x, [0, 0], [1, 64])
    for i in pl.unroll(2):
        x = pl.write(x, [i, n * 2], 1.0)
    return x
`

func TestOptReadsItsOwnOutput(t *testing.T) {
	once, errs, code := runAlone(newOpt(), optProgram, "opt", "-", "--until", "Simplify")
	if code != 0 || errs != "" || !strings.Contains(once, "pl.write(x, [1, v], 1.0)") || strings.Contains(once, "dead") {
		t.Fatalf("%d %s\n%s", code, errs, once)
	}
	twice, errs, code := runAlone(newOpt(), once, "opt", "-", "--verify-each", "--passes", "inline-functions,simplify")
	if code != 0 || errs != "" || twice != once {
		t.Errorf("%d %s\n%s", code, errs, twice)
	}
}

func TestOptWritesDumpsInPlaceOfTheIR(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.pl")
	out, errs, code := runAlone(newOpt(), optProgram, "opt", "-", "--passes", "Simplify", "--diff", "-o", file, "--time-passes")
	if code != 0 || !strings.HasPrefix(out, "# Simplify\n") || !strings.Contains(out, "\n-    dead = pl.load(x, [0, 0], [1, 64])\n") {
		t.Errorf("%d\n%s", code, out)
	}
	if !strings.Contains(errs, "parse and check") || !strings.HasSuffix(errs, "total\n") {
		t.Errorf("times: %s", errs)
	}
	ir, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(ir), "@pl.jit.incore\n") {
		t.Errorf("%v %s", err, ir)
	}
	out, _, _ = runAlone(newOpt(), optProgram, "opt", "-", "--passes", "Simplify", "--print-after-all")
	if !strings.HasPrefix(out, "# after parse and check\n@pl.jit.incore\n") || !strings.Contains(out, "\n# after Simplify\n@pl.jit.incore\n") {
		t.Errorf("print-after-all: %s", out)
	}
}

func TestOptRunsThePassesThatAReproducerNames(t *testing.T) {
	out, errs, code := runAlone(newOpt(), "# ptoc opt --passes InlineFunctions\n# a fault\n\n"+optProgram, "opt", "-")
	if code != 0 || !strings.Contains(out, "pl.unroll(2)") {
		t.Errorf("%d %s\n%s", code, errs, out)
	}
}

func TestOptSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"opt", "-", "--passes", "Simplfy"}, 2, "did you mean Simplify?"},
		{[]string{"opt", "-", "-D", "N"}, 2, `-D wants NAME=VALUE, got "N"`},
		{[]string{"opt", "no/such.pl"}, 1, "E0701: no/such.pl: no such file or directory"},
	} {
		if _, errs, code := runAlone(newOpt(), optProgram, tt.args...); code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("%v: %d %s", tt.args, code, errs)
		}
	}
	bad := strings.Replace(optProgram, "unroll(2)", "unroll(5)", 1)
	if out, errs, code := runAlone(newOpt(), bad, "opt", "-"); code != 1 || out != "" || !strings.Contains(errs, "E0394") {
		t.Errorf("%d %q %s", code, out, errs)
	}
}

func TestOptGivesJSON(t *testing.T) {
	jsonErrors = true
	defer func() { jsonErrors = false }()
	for program, wantCode := range map[string]int{optProgram: 0, strings.Replace(optProgram, "unroll(2)", "unroll(5)", 1): 1} {
		out, errs, code := runAlone(newOpt(), program, "opt", "-", "--until", "Simplify")
		var got struct {
			IR    string
			Steps []struct {
				Pass string
				MS   float64
				Ops  int
			}
			Diagnostics []struct{ Code string }
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || errs != "" || code != wantCode {
			t.Fatalf("%v %d %s\n%s", err, code, errs, out)
		}
		if (code == 0) != (got.IR != "") || (code == 0) == (len(got.Diagnostics) > 0) || len(got.Steps) == 0 {
			t.Errorf("%+v", got)
		}
	}
}
