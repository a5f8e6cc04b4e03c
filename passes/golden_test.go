package passes_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/passes/opt"
	"ptoc/tests/golden"
)

// Every folder of testdata belongs to one pass.
func TestGolden(t *testing.T) {
	dirs, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if d.IsDir() && d.Name() != "fuzz" {
			t.Run(d.Name(), func(t *testing.T) {
				golden.Run(t, "testdata/"+d.Name()+"/*.txtar", golden.Commands{"opt": runOpt})
			})
		}
	}
}

// runOpt is `ptoc opt` with the options that golden tests need. Every pass is verified and its output
// read back.
func runOpt(c golden.Call) (string, error) {
	var out strings.Builder
	j := opt.Job{VerifyEach: true, Out: &out}
	j.Check.Defines = map[string]string{}
	f := flag.NewFlagSet("opt", flag.ContinueOnError)
	names := f.String("passes", "", "")
	f.StringVar(&j.Until, "until", "", "")
	f.IntVar(&j.Ranks, "ranks", 0, "")
	f.BoolVar(&j.Diff, "diff", false, "")
	f.Func("D", "", func(s string) error {
		name, value, _ := strings.Cut(s, "=")
		j.Check.Defines[name] = value
		return nil
	})
	if err := f.Parse(c.Args); err != nil {
		return "", err
	}
	if *names != "" {
		j.Passes = strings.Split(*names, ",")
	}
	if j.Diff {
		j.Out, j.Trace = nil, &out
	}
	text, ok := c.Files[f.Arg(0)]
	if !ok && strings.HasPrefix(f.Arg(0), "examples/") {
		b, err := os.ReadFile("../" + f.Arg(0))
		if err != nil {
			return "", err
		}
		text, ok = string(b), true
	}
	if !ok {
		return "", fmt.Errorf("the archive has no %q", f.Arg(0))
	}
	list, err := j.Run(source.NewFile(f.Arg(0), text))
	if err != nil {
		return "", err
	}
	if list.Len() > 0 {
		diag.Render(&out, list, diag.Options{})
	}
	return out.String(), nil
}
