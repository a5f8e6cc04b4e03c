// Package entry finds where a program begins.
package entry

import (
	"slices"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// Hosts are the host functions. No function calls one.
func Hosts(m *ir.Module) []*ir.Func { return uncalled(m, ir.Host) }

// Find chooses the function to begin at: the one that is named, else main, else the only host function, else, where
// kernels may run by themselves, the only kernel that no other calls. A name that is no function's is that of the
// factory or class which defined the module. file is m's, for places; nil if nobody reads the diagnostic.
func Find(m *ir.Module, file *source.File, name string, kernels bool) (*ir.Func, *diag.Diagnostic) {
	hosts := Hosts(m)
	runnable := hosts
	if kernels {
		runnable = slices.Concat(hosts, uncalled(m, ir.Chip, ir.InCore))
	}
	var names []string
	for _, f := range runnable {
		names = append(names, f.Name)
	}
	if f := m.Func(name); f != nil {
		if slices.Contains(runnable, f) {
			return f, nil
		}
		d := diag.New(diag.NoEntry, f.Span, "no program begins at %s function %s", f.Kind, name)
		if len(names) > 0 {
			d.Help("what calls it can: --entry %s", names[0])
		}
		return nil, d
	}
	if f := m.Func("main"); f != nil && f.Kind == ir.Host {
		return f, nil
	}
	switch {
	case len(hosts) == 1:
		return hosts[0], nil
	case len(hosts) == 0 && len(runnable) == 1:
		return runnable[0], nil
	}
	at, from := source.Span{}, name
	if file != nil {
		at = file.Span(0, 0)
		if name == "" {
			from = file.Name
		}
	}
	if len(runnable) > 0 {
		return nil, diag.New(diag.NoEntry, at, "%s defines several programs: %s", from, diag.Listed(names)).
			Help("choose one: --entry %s", names[0])
	}
	d := diag.New(diag.NoEntry, at, "%s defines no host function", from)
	d.Help("a program starts at a function under @pl.jit.host, which allocates windows and dispatches to ranks")
	return nil, d
}

// uncalled are the functions of these kinds that no other calls.
func uncalled(m *ir.Module, kinds ...ir.FuncKind) []*ir.Func {
	by := called(m)
	var out []*ir.Func
	for _, f := range m.Funcs {
		if slices.Contains(kinds, f.Kind) && !by[f] {
			out = append(out, f)
		}
	}
	return out
}

// called are the functions that others call.
func called(m *ir.Module) map[*ir.Func]bool {
	by := map[*ir.Func]bool{}
	for _, f := range m.Funcs {
		f.Body.Walk(func(op *ir.Op) {
			if op.Kind == ir.Call {
				by[op.Callee()] = true
			}
		})
	}
	return by
}
