package verify

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"ptoc/ir"
	"ptoc/lang/entry"
)

// Program is what the layers look at: one host program, before and after lowering.
type Program struct {
	File    string
	Source  *ir.Module // as checked: collectives are single ops
	Lowered *ir.Module // collectives are library code; the same module as Source where nothing was lowered
	Final   *ir.Module // after the whole pipeline, for the value proof; Lowered where it is not given
	Entry   string     // the host function

	Context context.Context // if given, what is not checked when it is done stays so
	Budget  time.Duration   // of each layer that runs the program; 0: DefaultBudget

	runs      map[runKey]*run
	allBounds string // what is known for every number of ranks
}

// DefaultBudget is what a layer that runs the program may take for one scope.
const DefaultBudget = 30 * time.Second

// Limit is the context of a layer that runs the program.
func (p *Program) Limit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.context(), p.budget())
}

func (p *Program) context() context.Context {
	if p.Context == nil {
		return context.Background()
	}
	return p.Context
}

func (p *Program) budget() time.Duration {
	if p.Budget == 0 {
		return DefaultBudget
	}
	return p.Budget
}

// Ended says why the context of Limit was done before a layer had its answer.
func (p *Program) Ended() string {
	if p.context().Err() != nil {
		return "interrupted"
	}
	return fmt.Sprintf("budget: %v are over", p.budget())
}

// NewProgram is the program that begins at the host function of that name, or at the one that entry.Find chooses.
// lowered may be nil.
func NewProgram(file string, source, lowered *ir.Module, name string) (*Program, error) {
	if lowered == nil {
		lowered = source
	}
	p := &Program{File: file, Source: source, Lowered: lowered, Final: lowered, runs: map[runKey]*run{}}
	f, d := entry.Find(source, nil, name, false)
	if d != nil {
		return nil, d
	}
	p.Entry = f.Name
	return p, nil
}

// golden is the specification of the entry, or nil.
func (p *Program) golden() *ir.Func {
	for _, f := range p.Source.Funcs {
		if f.Kind == ir.Golden && f.GoldenOf == p.Entry {
			return f
		}
	}
	return nil
}

// defaultExtent is the value of a symbol that neither the user nor the number of ranks gives: small,
// and no multiple of anything that an algorithm cuts by.
const defaultExtent = 6

// Scope gives every symbol that the host program needs a value: what the user says, the number of
// ranks where a symbol counts them, and a small extent otherwise.
func (p *Program) Scope(ranks, repeats int, defines map[string]int64) Scope {
	s := Scope{Ranks: ranks, Syms: map[string]int64{}, Repeats: max(repeats, 1)}
	counts := p.rankSymbols()
	for _, name := range p.Source.Func(p.Entry).DimSyms() {
		switch {
		case counts[name]:
			s.Syms[name] = int64(ranks)
		default:
			s.Syms[name] = defaultExtent
		}
	}
	maps.Copy(s.Syms, defines)
	return s
}

// rankSymbols are the symbols that stand for the number of ranks: the extent that is indexed by the
// counter of a loop over the ranks, and names that say so.
func (p *Program) rankSymbols() map[string]bool {
	out := map[string]bool{}
	f := p.Source.Func(p.Entry)
	for _, name := range f.DimSyms() {
		switch strings.ToUpper(name) {
		case "NR", "NRANKS", "N_RANKS", "NUM_RANKS", "RANKS", "WORLD", "WORLD_SIZE", "P", "EP", "TP":
			out[name] = true
		}
	}
	devices := map[*ir.Value]bool{}
	f.Body.Walk(func(op *ir.Op) {
		if op.Kind == ir.Call && op.Val("device") != nil {
			devices[op.Val("device")] = true
		}
	})
	f.Body.Walk(func(op *ir.Op) {
		if op.Kind != ir.Slice || len(op.Vals("offsets")) == 0 || !devices[op.Vals("offsets")[0]] {
			return
		}
		if s, ok := ir.ShapeOf(op.Val("x").Type)[0].Sym(); ok {
			out[s] = true
		}
	})
	return out
}

type runKey struct {
	module *ir.Module
	scope  string
}

// run is the execution of the lowered program in a scope; final is that of the program after the whole
// pipeline; calls is that of the program before, without values, for which collectives it calls. Layers
// share them.
func (p *Program) run(s Scope) *run   { return p.cached(p.Lowered, s, execute) }
func (p *Program) final(s Scope) *run { return p.cached(p.Final, s, execute) }
func (p *Program) calls(s Scope) *run {
	key := runKey{nil, s.String()}
	if p.runs[key] == nil {
		p.runs[key] = attempt(p.Source, p.Entry, s, false)
		if r := p.runs[key]; r.gaveUp != "" && r.gaveUp != tooMuch {
			p.runs[key] = attempt(p.Source, p.Entry, s, true) // it may depend on data
		}
	}
	return p.runs[key]
}

func (p *Program) cached(m *ir.Module, s Scope, execute func(*ir.Module, string, Scope) *run) *run {
	key := runKey{m, s.String()}
	if p.runs[key] == nil {
		p.runs[key] = execute(m, p.Entry, s)
	}
	return p.runs[key]
}
