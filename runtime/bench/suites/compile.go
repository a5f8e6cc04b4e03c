package suites

import (
	"context"
	"os"
	"strings"
	"time"

	"ptoc/codegen/cpp"
	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
	"ptoc/passes"
	"ptoc/runtime/bench"
)

// Compile measures each stage between a file's text and its C++. The path "" stands for a program of
// this package: a layer of a transformer.
func Compile(ctx context.Context, path string, o check.Options, budget time.Duration) (*bench.Table, error) {
	text := ""
	if path == "" {
		f := program("layer.pl")
		path, text = f.Name, f.Text
	} else {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, diag.Unreadable(err)
		}
		text = string(b)
	}
	first, err := compileOnce(path, text, o)
	if err != nil {
		return nil, err
	}
	times := make([][]float64, len(first))
	var totals []float64
	begun := time.Now()
	for len(totals) < 5 || time.Since(begun) < budget {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		steps, err := compileOnce(path, text, o)
		if err != nil {
			return nil, err
		}
		total := 0.0
		for i, s := range steps {
			ns := float64(s.took)
			times[i] = append(times[i], ns)
			if s.name != "C++" {
				total += ns
			}
		}
		totals = append(totals, total)
	}
	t := bench.NewTable("stage", "first time", "min", "median")
	firstTotal := time.Duration(0)
	for i, s := range first {
		if s.name != "C++" {
			firstTotal += s.took
		}
		st := bench.Summarize(times[i])
		t.Row(s.name, s.took, bench.Nanos(st.Min), bench.Nanos(st.Median))
	}
	st := bench.Summarize(totals)
	t.Row("front end and passes", firstTotal, bench.Nanos(st.Min), bench.Nanos(st.Median))
	lines := strings.Count(text, "\n")
	t.Note("%d lines, %d bytes, %d repetitions; the first time includes what a process does once, such as parsing the library.", lines, len(text), len(totals))
	return t, nil
}

type step struct {
	name string
	took time.Duration
}

func compileOnce(path, text string, o check.Options) (steps []step, err error) {
	at := time.Now()
	done := func(name string) {
		now := time.Now()
		steps = append(steps, step{name, now.Sub(at)})
		at = time.Now()
	}
	list := &diag.List{}
	tree := syntax.Parse(source.NewFile(path, text), syntax.ModeFor(path), list)
	done("parse")
	var m *ir.Module
	if !list.HasErrors() {
		m = check.File(tree, o, list)
	}
	done("check")
	if list.HasErrors() {
		return nil, list
	}
	after := func(p passes.Pass, _ *ir.Module, _ time.Duration) { done(p.Name) }
	if l := passes.Run(m, passes.Options{After: after}); l.HasErrors() {
		return nil, l
	}
	_, err = cpp.Generate(m)
	done("C++")
	return steps, err
}

// Parse measures the parser on about so many bytes of text, made of the given files over and over.
func Parse(ctx context.Context, files []string, size int, budget time.Duration) (*bench.Table, error) {
	var b strings.Builder
	for b.Len() < size {
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return nil, diag.Unreadable(err)
			}
			b.Write(text)
			b.WriteByte('\n')
		}
	}
	file := source.NewFile("many.pl", b.String())
	side := bench.Func("parser", func() error {
		list := &diag.List{}
		syntax.Parse(file, syntax.Strict, list)
		return list.Err()
	})
	s, err := bench.Measure(ctx, bench.Budget{Time: budget}, side)
	if err != nil {
		return nil, err
	}
	t := bench.NewTable("bytes", "min", "median", "MB/s, best", "MB/s")
	mb := float64(b.Len()) * 1e3
	t.Row(b.Len(), bench.Nanos(s.Min), bench.Nanos(s.Median), mb/s.Min, mb/s.Median)
	return t, nil
}
