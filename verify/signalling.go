package verify

import (
	"fmt"
	"slices"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
)

// Static is what every compile looks at, without a rank count and in microseconds: collectives that
// only some ranks reach, accesses that are out of bounds whatever the rank, and data that no signal
// can release. It reports only what is certain.
func Static(m *ir.Module) []Finding {
	fs, _ := Uniformity(m)
	fs = append(fs, Bounds(m)...)
	return append(fs, Signalling(m)...)
}

// Warn adds what Static finds to a list, as warnings: the program may still be run, and its run will say
// more.
func Warn(m *ir.Module, list *diag.List) {
	for _, f := range Static(m) {
		d := *f.Diagnostic
		d.Severity = diag.Warning
		list.Add(&d)
	}
}

// Signalling reports the writes to peers that no notify of their kernel can follow on any path. In a
// loop it looks at the last iteration: what that one writes after its notify stays unreleased.
func Signalling(m *ir.Module) []Finding {
	s := &signalling{seen: map[*ir.Op]bool{}}
	for _, f := range kernels(m) {
		s.block(f.Body, false)
	}
	return s.findings
}

// kernels are the functions that are dispatched, or, without a host function, that nobody calls.
func kernels(m *ir.Module) []*ir.Func {
	dispatched, called := map[*ir.Func]bool{}, map[*ir.Func]bool{}
	for _, f := range m.Funcs {
		f.Walk(func(op *ir.Op) {
			if op.Kind == ir.Call {
				called[op.Callee()] = true
				dispatched[op.Callee()] = dispatched[op.Callee()] || op.Val("device") != nil
			}
		})
	}
	var out []*ir.Func
	for _, f := range m.Funcs {
		if (f.Kind == ir.Chip || f.Kind == ir.InCore) && (dispatched[f] || !called[f]) {
			out = append(out, f)
		}
	}
	return out
}

type signalling struct {
	findings []Finding
	seen     map[*ir.Op]bool
}

// block walks b backwards; ahead says whether a notify may come after it. The result says whether one may
// come after its start.
func (s *signalling) block(b *ir.Block, ahead bool) bool {
	for _, op := range slices.Backward(b.Ops) {
		ahead = s.op(op, ahead)
	}
	return ahead
}

func (s *signalling) op(op *ir.Op, ahead bool) bool {
	switch {
	case op.Kind == ir.Notify:
		return ahead || !isOwn(op.Val("peer")) // a credit that a rank takes back tells nobody anything
	case op.Kind.HasEffect(ir.Signals):
		return true
	case op.Kind == ir.Call:
		return s.block(op.Callee().Body, ahead)
	case op.Kind == ir.Fused:
		s.write(op, ahead)
		return ahead
	case len(op.Regions) > 0:
		any := ahead
		for _, r := range op.Regions {
			any = s.block(r, ahead) || any
		}
		return any
	}
	s.write(op, ahead)
	return ahead
}

func (s *signalling) write(op *ir.Op, ahead bool) {
	if ahead || s.seen[op] || len(op.Kind.Effects) == 0 {
		return
	}
	for _, e := range ir.EffectsOf(op) {
		if e.Kind == ir.RemoteWrites && !isOwn(e.Peer) {
			s.seen[op] = true
			d := diag.New(diag.SignalBeforeData, op.Span, "%s writes to a peer, and no notify of this kernel follows", op.Kind.Name)
			d.Help("write first and notify afterwards: a notify releases what its kernel did before it")
			s.findings = append(s.findings, Finding{Diagnostic: d, Layer: "static"})
			return
		}
	}
}

// isOwn: the peer is this rank, as far as that can be seen.
func isOwn(peer *ir.Value) bool { return peer != nil && peer.Def != nil && peer.Def.Kind == ir.Rank }

// Summary writes findings on one line each, for tests and logs.
func Summary(fs []Finding) string {
	var b strings.Builder
	for _, f := range fs {
		fmt.Fprintln(&b, f.Error())
	}
	return b.String()
}
