// Package verify proves, for given numbers of ranks and shapes, that a program's signalling cannot
// hang, race, or compute the wrong thing, or shows how it does.
//
// It is a list of layers. Each looks at the whole program in its own way and answers with one Verdict:
// proved, counterexample, or not checked (and why). What no layer looked at is never called right.
package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// Status is a layer's answer. The zero Status claims nothing.
type Status uint8

const (
	NotChecked Status = iota
	Proved
	Counterexample
)

func (s Status) String() string { return [...]string{"not checked", "proved", "counterexample"}[s] }

// MarshalText writes a status into JSON as its name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Scope says for what a verdict holds, and for nothing else.
type Scope struct {
	Ranks   int              `json:"ranks"`
	Syms    map[string]int64 `json:"syms,omitempty"`   // the value of every pl.dynamic symbol
	Repeats int              `json:"repeats"`          // runs of the host program on the same windows
	Inputs  []string         `json:"inputs,omitempty"` // NAME=SPEC: what is given where data decides
}

// String is "4 ranks, N = 8, NR = 4, 2 repeats".
func (s Scope) String() string {
	parts := []string{plural(s.Ranks, "rank")}
	var names []string
	for n := range s.Syms {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		parts = append(parts, fmt.Sprintf("%s = %d", n, s.Syms[n]))
	}
	if s.Repeats > 1 {
		parts = append(parts, plural(s.Repeats, "repeat"))
	}
	return strings.Join(append(parts, s.Inputs...), ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "s") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Verdict is what one layer found out about one program in one scope.
type Verdict struct {
	Layer    string        `json:"layer"`
	Status   Status        `json:"status"`
	Reason   string        `json:"reason,omitempty"` // why not checked; what else the answer rests on
	Given    string        `json:"given,omitempty"`  // what else it holds for only: where control flow or addresses are data
	Scope    Scope         `json:"scope"`
	Findings []Finding     `json:"findings,omitempty"` // at least one where Status is Counterexample
	States   int           `json:"states,omitempty"`   // schedules or states visited, where the layer counts them
	Elapsed  time.Duration `json:"elapsed_ns"`
}

// A Finding is a fault: a diagnostic, and how to see it happen.
type Finding struct {
	*diag.Diagnostic
	Layer    string
	Scope    Scope
	Replay   string  // token of `ptoc run --replay`; "" where the fault needs no schedule
	Timeline []Event // one line per step, in an order that can happen; may be empty
}

// Event is one step of a rank in a timeline.
type Event struct {
	Rank int         `json:"rank"`
	Step int         `json:"step"` // its index among this rank's events
	Kind string      `json:"kind"` // notify, wait, blocked, read, write, collective, start, end
	Text string      `json:"text"` // "signal[1, 0] += 1 on rank 2"
	At   source.Span `json:"-"`
	// From lists the notifies that a wait took its credits from, as {rank, step}: arrows of a drawing.
	From [][2]int `json:"from,omitempty"`
}

// A Layer looks at a program in one way.
type Layer interface {
	// Name is one word: it stands in reports and in --layers.
	Name() string
	// Check answers for one scope. It does not stop at the first fault, but reports each once.
	Check(p *Program, s Scope) Verdict
}

// layers are all layers in the order in which they run and are reported. Layers that live elsewhere
// (the dynamic ones, which need the simulator) add themselves with Register.
var layers []Layer

// Register adds a layer behind those that are there; one of the same name is replaced.
func Register(l Layer) {
	for i, old := range layers {
		if old.Name() == l.Name() {
			layers[i] = l
			return
		}
	}
	layers = append(layers, l)
}

// Layers lists the layers in order.
func Layers() []Layer { return slices.Clone(layers) }

// Report is everything about one program: all layers, all scopes.
type Report struct {
	File     string    `json:"file"`
	Verdicts []Verdict `json:"verdicts"`
}

// Status is the worst answer: a counterexample, else something not checked, else proved.
func (r *Report) Status() Status {
	worst := NotChecked
	proved := len(r.Verdicts) > 0
	for _, v := range r.Verdicts {
		if v.Status == Counterexample {
			worst = Counterexample
		}
		proved = proved && v.Status == Proved
	}
	if worst == NotChecked && proved {
		return Proved
	}
	return worst
}

// ExitCode is 0 for proved, 1 for a counterexample, 3 for not checked.
func (s Status) ExitCode() int { return [...]int{3, 0, 1}[s] }

// fault is the code under which one layer finds by reasoning what another runs into.
func fault(c diag.Code) diag.Code {
	switch c {
	case diag.AccessOutside, diag.AccessOutsidePeer, diag.CellOutside:
		return diag.OutOfBounds
	case diag.PeerOutside:
		return diag.NoSuchPeer
	case diag.WaitCycle:
		return diag.LostWait
	}
	return c
}

// Findings lists every fault once: at a place, a fault is reported for the first scope that shows it, as the first
// layer tells it. If only a later layer has run into it, its replay token comes along.
func (r *Report) Findings() []Finding {
	type key struct {
		code diag.Code
		at   source.Span
	}
	seen := map[key]int{}
	var out []Finding
	for _, v := range r.Verdicts {
		for _, f := range v.Findings {
			k := key{fault(f.Code), f.At}
			i, known := seen[k]
			switch {
			case !known:
				seen[k] = len(out)
				out = append(out, f)
			case out[i].Replay == "" && out[i].Scope.Ranks == f.Scope.Ranks:
				out[i].Replay = f.Replay
			}
		}
	}
	return out
}
