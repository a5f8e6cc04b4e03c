package check

import (
	"sort"

	"ptoc/ir"
	"ptoc/lang/source"
)

// A binding is what a name means and where it got that meaning.
type binding struct {
	val value
	at  source.Span
}

// An env is a scope: a function's names over its module's. Arms of branches work on clones.
type env struct {
	names map[string]binding
	outer *env
}

func newEnv(outer *env) *env { return &env{names: map[string]binding{}, outer: outer} }

func (e *env) set(name string, v value, at source.Span) { e.names[name] = binding{v, at} }

func (e *env) lookup(name string) (binding, bool) {
	for ; e != nil; e = e.outer {
		if b, ok := e.names[name]; ok {
			return b, true
		}
	}
	return binding{}, false
}

// owner is the scope that gives the name its meaning; the outermost where none does.
func (e *env) owner(name string) *env {
	for ; e.outer != nil; e = e.outer {
		if _, ok := e.names[name]; ok {
			break
		}
	}
	return e
}

// local is the binding in this scope alone.
func (e *env) local(name string) (binding, bool) {
	b, ok := e.names[name]
	return b, ok
}

func (e *env) clone() *env {
	out := &env{names: make(map[string]binding, len(e.names)+4), outer: e.outer}
	for n, b := range e.names {
		out.names[n] = b
	}
	return out
}

// all lists every name in scope.
func (e *env) all() []string {
	var out []string
	for ; e != nil; e = e.outer {
		for n := range e.names {
			out = append(out, n)
		}
	}
	return out
}

// constants are the names that -D may change.
func (e *env) constants() []string {
	var out []string
	for n, b := range e.names {
		switch b.val.(type) {
		case int64, float64, bool, string, ir.Dim, ir.DType, seq:
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
