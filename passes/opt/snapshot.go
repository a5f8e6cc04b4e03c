package opt

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"ptoc/internal/snapshot"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/passes"
)

// Snapshot is `opt` as a command of package snapshot: the options of `ptoc opt` that say what is printed. Every
// pass is verified and its output read back; diagnostics are part of the text.
func Snapshot(c snapshot.Call) (string, error) {
	var out strings.Builder
	j := Job{VerifyEach: true, Out: &out}
	j.Check.Defines, j.Check.Set = map[string]string{}, map[string]string{}
	f := flag.NewFlagSet("opt", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	names := f.String("passes", "", "")
	f.StringVar(&j.Until, "until", "", "")
	f.StringVar(&j.Check.Entry, "entry", "", "")
	f.IntVar(&j.Ranks, "ranks", 0, "")
	f.StringVar(&j.Target, "target", "", "")
	f.BoolVar(&j.Diff, "diff", false, "")
	f.Func("D", "", into(j.Check.Defines))
	f.Func("set", "", into(j.Check.Set))
	if err := f.Parse(c.Args); err != nil {
		return "", err
	}
	if f.NArg() != 1 {
		return "", fmt.Errorf("expected one file behind the options, got %d", f.NArg())
	}
	if *names != "" {
		j.Passes = strings.Split(*names, ",")
	}
	if _, err := passes.Select(j.Passes, j.Until); err != nil {
		return "", err
	}
	if j.Diff {
		j.Out, j.Trace = nil, &out
	}
	text, err := c.File(f.Arg(0))
	if err != nil {
		return "", err
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

func into(m map[string]string) func(string) error {
	return func(s string) error {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("want NAME=VALUE, got %q", s)
		}
		m[name] = value
		return nil
	}
}
