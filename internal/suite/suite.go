// Package suite is `ptoc test` as a library: it finds what can be tested in files and folders, runs it, and
// reports.
//
// A program (.pl, .py) is compared with its golden functions on several numbers of ranks and verified; an
// archive (.txtar) is a snapshot as package snapshot describes it.
package suite

import (
	"context"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"ptoc/lang/diag"
)

// Options say what is tested and how. The zero Options test what files say, or a little of everything.
type Options struct {
	Ranks    []int             // nil: what a program says, or DefaultRanks
	Backends []string          // "native", "sim"; nil: native where there is a compiler, else sim
	Layers   []string          // of verification; nil: all that there are
	Defines  map[string]string // for every program, over what it says itself
	Inputs   []string          // NAME=SPEC: the same, where a function has a parameter of that name
	Match    *regexp.Regexp    // only tests with such a name; nil: all
	Jobs     int               // tests at a time; 0: one
	Update   bool              // rewrite snapshots
	Timeout  time.Duration     // of a run in which no rank gets on

	// Progress, if set, is told before each test how many are done.
	Progress func(done, all int, name string)
}

// DefaultRanks are enough for a rank without a peer, with one, and with peers that differ.
var DefaultRanks = []int{1, 2, 4}

// Status is what became of a test.
type Status string

const (
	Passed     Status = "passed"
	Failed     Status = "failed"
	NotChecked Status = "not checked" // it ran, and the answer is neither
	Skipped    Status = "skipped"     // it did not run
	Updated    Status = "updated"     // a snapshot that was rewritten
)

// Test is one test and its outcome.
type Test struct {
	File    string        `json:"file"`
	What    string        `json:"test"`            // "golden expected, native", "verify main", "snapshot", "compile"
	Ranks   int           `json:"ranks,omitempty"` // 0 where it has none
	Status  Status        `json:"status"`
	Detail  string        `json:"detail,omitempty"` // one line
	Elapsed time.Duration `json:"elapsed_ns"`

	Errors *diag.List `json:"-"` // of a failure, in full
	Diff   string     `json:"-"` // of a snapshot

	run func(ctx context.Context, t *Test)
}

// Report is all tests in the order of the files, and the files that have none.
type Report struct {
	Tests []*Test  `json:"tests"`
	Empty []string `json:"nothing_to_test,omitempty"`
}

// Run tests the files and folders. The error is about reading these, or ctx's.
func Run(ctx context.Context, paths []string, o Options) (*Report, error) {
	files, err := find(paths)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	for _, f := range files {
		tests := o.plan(ctx, f)
		if len(tests) == 0 {
			r.Empty = append(r.Empty, f)
		}
		for _, t := range tests {
			if o.Match == nil || o.Match.MatchString(t.Name()) {
				r.Tests = append(r.Tests, t)
			}
		}
	}
	o.runAll(ctx, r.Tests)
	return r, ctx.Err()
}

func (o *Options) runAll(ctx context.Context, tests []*Test) {
	var wg sync.WaitGroup
	var next, done atomic.Int64
	for range max(o.Jobs, 1) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(tests)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				t := tests[i]
				if o.Progress != nil {
					o.Progress(int(done.Load()), len(tests), t.Name())
				}
				begin := time.Now()
				if t.run != nil {
					t.run(ctx, t)
				}
				t.Elapsed = time.Since(begin)
				done.Add(1)
			}
		})
	}
	wg.Wait()
}

// Count is how many tests ended so.
func (r *Report) Count(s Status) int {
	n := 0
	for _, t := range r.Tests {
		if t.Status == s {
			n++
		}
	}
	return n
}

func (t *Test) pass(detail string)          { t.Status, t.Detail = Passed, detail }
func (t *Test) end(s Status, detail string) { t.Status, t.Detail = s, detail }

// fail takes an error; a list of diagnostics is kept in full.
func (t *Test) fail(err error) {
	t.Status, t.Errors = Failed, listOf(err)
	t.Detail = err.Error()
	if all := t.Errors.Sorted(); len(all) > 0 {
		t.Detail = all[0].Code.String() + ": " + all[0].Message
	}
}
