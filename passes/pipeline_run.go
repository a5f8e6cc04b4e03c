package passes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// Options say what Run does. The zero Options run the whole pipeline for the CPU.
type Options struct {
	Passes     []string // run these, in this order, instead of the table's
	Until      string   // stop after the last pass of this name
	VerifyEach bool     // verify after every pass

	// Reparse reads printed IR back. Where it is given, every pass (and the module that comes in) is
	// checked for surviving the round trip: print, reparse, equal.
	Reparse func(file *source.File) (*ir.Module, error)

	// After is called after every pass.
	After func(p Pass, m *ir.Module, took time.Duration)

	// Watch makes a function that gets the module as it is now, and from then on after passes; what that
	// returns is the fault of the pass named. (Package verify has one that compares synchronisation; passes
	// cannot import it.) It is called after every pass with VerifyEach. Otherwise it sees the module only
	// where collectives are lowered and at the end, and where it finds something the passes run once more to
	// learn which one it was.
	Watch func(m *ir.Module) func(pass string, m *ir.Module) *diag.Diagnostic

	// Context, if given, interrupts the passes when it is done: the list that Run returns then holds
	// diag.Interrupted.
	Context context.Context

	Target string
	Ranks  int
	Cache  int64 // as in Context; 0: DefaultCache

	Choices *[]Choice // where it is given, gets what passes chose for the user

	// ReproducerDir is where the file goes that reproduces an internal error; "": the system's
	// directory for temporary files.
	ReproducerDir string
}

// DefaultCache is for what no machine is known for, such as printed IR that should be the same everywhere.
const DefaultCache = 32 << 20

// Run runs passes over m, in place, and returns what they had to say. The module is unusable where
// that contains errors.
func Run(m *ir.Module, o Options) *diag.List {
	r := &runner{m: m, o: o, c: &Context{Diags: &diag.List{}, Target: o.Target, Ranks: o.Ranks, Cache: o.Cache, ctx: o.Context}}
	if r.c.Cache == 0 {
		r.c.Cache = DefaultCache
	}
	if r.c.Target == "" {
		r.c.Target = "cpu"
	}
	rows, err := Select(o.Passes, o.Until)
	if err != nil {
		r.c.Diags.Errorf(diag.Internal, source.Span{}, "%v", err)
		return r.c.Diags
	}
	r.rows = rows
	r.run()
	if o.Choices != nil {
		*o.Choices = r.c.Choices
	}
	return r.c.Diags
}

// Select gives the rows that Run would run: the named ones in the order given, or the whole table,
// up to the last one called until.
func Select(names []string, until string) ([]Pass, error) {
	rows := table
	if names != nil {
		rows = nil
		for _, n := range names {
			p, ok := Find(n)
			if !ok {
				return nil, unknownPass(n)
			}
			rows = append(rows, p)
		}
	}
	if until == "" {
		return rows, nil
	}
	for i := len(rows) - 1; i >= 0; i-- {
		if sameName(rows[i].Name, until) {
			return rows[:i+1], nil
		}
	}
	return nil, unknownPass(until)
}

func unknownPass(name string) error {
	var known []string
	for _, p := range table {
		if len(known) == 0 || !slices.Contains(known, p.Name) {
			known = append(known, p.Name)
		}
	}
	if near := diag.Nearest(name, known); near != "" {
		return fmt.Errorf("no pass is called %s; did you mean %s?", name, near)
	}
	return fmt.Errorf("no pass is called %s; there are %s", name, strings.Join(known, ", "))
}

type runner struct {
	m    *ir.Module
	o    Options
	c    *Context
	rows []Pass

	start *ir.Module // a copy of what came in, to reproduce faults from
}

func (r *runner) run() {
	r.start = ir.CloneModule(r.m)
	if r.o.VerifyEach || r.o.Reparse != nil {
		if err := r.check(); err != nil {
			r.report(-1, err)
			return
		}
	}
	w := r.watch(r.m)
	for i, p := range r.rows {
		begin := time.Now()
		err := runGuarded(p, r.m, r.c)
		took := time.Since(begin)
		if err == nil && !r.c.Diags.HasErrors() {
			err = r.check()
		}
		culprit := i
		if err == nil && !r.c.Diags.HasErrors() && r.watches(i) {
			culprit, err = r.blame(i, w(p.Name, r.m))
		}
		if err != nil {
			r.report(culprit, err)
		}
		if r.c.Diags.HasErrors() {
			return
		}
		if r.o.After != nil {
			r.o.After(p, r.m, took)
		}
	}
}

// panicked is a panic inside a pass, as an error.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprint(p.value) }

func runGuarded(p Pass, m *ir.Module, c *Context) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case interrupted:
			err = v.cause
		default:
			err = &panicked{v, debug.Stack()}
		}
	}()
	c.poll()
	p.run(m, c)
	return nil
}

// check verifies and round-trips the module, as far as the options ask for it.
func (r *runner) check() error {
	if r.o.VerifyEach || r.o.Reparse != nil {
		if errs := ir.Verify(r.m); len(errs) > 0 {
			return errors.Join(errs...)
		}
	}
	if r.o.Reparse == nil {
		return nil
	}
	return RoundTrip(r.m, r.o.Reparse)
}

// RoundTrip prints m, reads it back and compares.
func RoundTrip(m *ir.Module, reparse func(*source.File) (*ir.Module, error)) error {
	file := source.NewFile("printed.pl", ir.Print(m))
	back, err := reparse(file)
	if err != nil {
		return fmt.Errorf("printed IR does not read back: %w", err)
	}
	if err := ir.Equal(m, back); err != nil {
		return fmt.Errorf("printed IR reads back differently: %w", err)
	}
	return nil
}

// report turns a fault of row i (-1: of the module that came in) into an internal error and writes
// its reproducer.
func (r *runner) report(i int, err error) {
	if r.o.Context != nil && errors.Is(err, r.o.Context.Err()) {
		r.c.Diags.Errorf(diag.Interrupted, source.Span{}, "interrupted before the end of pass %s", r.rows[i].Name)
		return
	}
	what := "the front end made IR that is broken"
	var names []string
	if i >= 0 {
		what = "pass " + r.rows[i].Name + " broke the IR"
		for _, p := range r.rows[i:] {
			names = append(names, p.Name)
		}
	}
	var p *panicked
	if errors.As(err, &p) && i >= 0 {
		what = "pass " + r.rows[i].Name + " failed"
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	var d *diag.Diagnostic
	if errors.As(err, &d) { // a watcher's: it says all there is to say
		r.c.Diags.Add(d)
	} else {
		d = r.c.Diags.Errorf(diag.Internal, source.Span{}, "%s: %s", what, lines[0])
		for _, l := range lines[1:min(len(lines), 5)] {
			d.Note(source.Span{}, "%s", l)
		}
	}
	if p != nil && os.Getenv("PTOC_DEBUG") != "" {
		d.Note(source.Span{}, "%s", p.stack)
	}
	path, werr := r.reproducer(i, names, lines[0])
	if werr != nil {
		d.Note(source.Span{}, "no reproducer could be written: %v", werr)
		return
	}
	d.Help("the module before the pass was written to %s; `ptoc opt %s` shows the fault again", path, path)
}

// ReproducerPasses is how the first line of a reproducer names the passes to run.
const ReproducerPasses = "# ptoc opt --passes "

// reproducer writes the module as it was before row i. It gets there by running the rows before once
// more: that costs nothing where nothing goes wrong.
func (r *runner) reproducer(i int, names []string, fault string) (string, error) {
	m := r.start
	quiet := &Context{Diags: &diag.List{}, Target: r.c.Target, Ranks: r.c.Ranks, Cache: r.c.Cache}
	for _, p := range r.rows[:max(i, 0)] {
		if err := runGuarded(p, m, quiet); err != nil {
			return "", fmt.Errorf("%s fails only sometimes: %w", p.Name, err)
		}
	}
	dir := r.o.ReproducerDir
	if dir == "" {
		dir = os.TempDir()
	}
	f, err := os.CreateTemp(dir, "ptoc-reproducer-*.pl")
	if err != nil {
		return "", err
	}
	text := ReproducerPasses + strings.Join(names, ",") + "\n# " + fault + "\n\n" + ir.Print(m)
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return filepath.Clean(f.Name()), err
}

// PassesOf reads the passes that a reproducer's first line names.
func PassesOf(text string) ([]string, bool) {
	line, _, _ := strings.Cut(text, "\n")
	list, ok := strings.CutPrefix(line, ReproducerPasses)
	if !ok {
		return nil, false
	}
	list = strings.TrimSpace(list)
	if list == "" {
		return []string{}, true
	}
	return strings.Split(list, ","), true
}
