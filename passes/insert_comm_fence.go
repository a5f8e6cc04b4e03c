package passes

import (
	"ptoc/ir"
)

// insertCommFence makes sure that data is visible before the signal that announces it.
//
// Before:                                        After:
//
//	store(x, [0, 0], peer_view, stream=True)       store(x, [0, 0], peer_view, stream=True)
//	for i in pl.range(1, n):                       pl.system.fence()
//	    notify(signal, i, [me, 0], 1)              for i in pl.range(1, n):
//	                                                   notify(signal, i, [me, 0], 1)
//
// The memory model already lets a notify release all plain writes before it, and a wait acquire what
// its notifies released. What it does not order are streaming writes (stream=True), which bypass the
// caches: they need a pl.system.fence on every path to the next notify. The pass follows the data flow
// through loops and branches: a write leaves the state "pending", a fence clears it, and where a signal
// (a notify, a collective, a call that may signal) or the end of the function can be reached with
// writes pending, it inserts a fence: in front of the outermost loop that can be, so that loops over
// peers fence once. Afterwards no signal and no return is reached with writes pending, which
// unfencedSignals checks. Idempotent.
func insertCommFence(m *ir.Module, c *Context) {
	for _, f := range m.Funcs {
		if f.Kind == ir.Chip || f.Kind == ir.InCore {
			fl := &fences{f: f, insert: true}
			fl.function()
		}
	}
}

// unfencedSignals lists the ops of f that signal, or return, while streaming writes may be pending.
func unfencedSignals(f *ir.Func) []*ir.Op {
	fl := &fences{f: f}
	fl.function()
	return fl.found
}

// fences walks a function; the state is whether streaming writes may be pending.
type fences struct {
	f      *ir.Func
	insert bool
	found  []*ir.Op
	atCond bool // the state where the innermost while loop may end
}

func (fl *fences) function() {
	body := fl.f.Body
	if fl.block(body, false) && body.Terminator() == nil {
		if fl.insert {
			ir.NewBuilder(fl.f, body).At(fl.f.Span).Add(ir.Fence).Must()
		} else if n := len(body.Ops); n > 0 {
			fl.found = append(fl.found, body.Ops[n-1])
		}
	}
}

// block walks b and returns the state at its end.
func (fl *fences) block(b *ir.Block, pending bool) bool {
	for i := 0; i < len(b.Ops); i++ {
		op := b.Ops[i]
		switch {
		case op.Kind == ir.Fence:
			pending = false
		case op.Kind == ir.Cond:
			fl.atCond = fl.atCond || pending
		case len(op.Regions) > 0 && op.Kind != ir.Fused:
			if pending && isLoop(op) && signalsFirst(op.Regions) {
				i += fl.fence(b, i, op)
				pending = false
			}
			pending = fl.regions(op, pending)
		case pending && (signals(op) || op.Kind == ir.Return):
			i += fl.fence(b, i, op)
			pending = false
		case op.Bool("stream"):
			pending = true
		}
	}
	return pending
}

// regions walks the regions of a loop, branch or scope.
func (fl *fences) regions(op *ir.Op, pending bool) bool {
	outer := fl.atCond
	fl.atCond = false
	out := false
	for _, r := range op.Regions {
		end := fl.block(r, pending)
		if end && isLoop(op) && !pending && signalsFirst(op.Regions) {
			// What one iteration leaves pending, the next one would announce.
			fl.fence(r, beforeTerminator(r), op)
			end = false
		}
		out = out || end
	}
	if op.Kind == ir.For || op.Kind == ir.If && len(op.Regions) == 1 {
		out = out || pending // it may run no iteration, or nothing
	}
	if op.Kind == ir.While {
		out, fl.atCond = out || fl.atCond, outer
	} else {
		fl.atCond = fl.atCond || outer
	}
	return out
}

// fence inserts a fence at index i of b, or notes that one is missing. It returns how many ops it
// put in front of i.
func (fl *fences) fence(b *ir.Block, i int, at *ir.Op) int {
	if !fl.insert {
		fl.found = append(fl.found, at)
		return 0
	}
	ir.Before(fl.f, b, i).At(at.Span).Add(ir.Fence).Must()
	return 1
}

func isLoop(op *ir.Op) bool { return op.Kind == ir.For || op.Kind == ir.While }

func beforeTerminator(b *ir.Block) int {
	if b.Terminator() != nil {
		return len(b.Ops) - 1
	}
	return len(b.Ops)
}

// signals reports whether an op may tell another rank something, itself or in what it calls.
func signals(op *ir.Op) bool {
	if op.Kind.HasEffect(ir.Signals) {
		return true
	}
	if op.Kind != ir.Call {
		return false
	}
	found := false
	op.Callee().Body.Walk(func(o *ir.Op) { found = found || signals(o) })
	return found
}

// signalsFirst reports whether a signal can be reached from the start of one of the regions without
// a fence in between.
func signalsFirst(regions []*ir.Block) bool {
	for _, r := range regions {
		if s, _ := reachesSignal(r); s {
			return true
		}
	}
	return false
}

// reachesSignal: signal, whether a signal may come before any fence; through, whether the end may be
// reached without one.
func reachesSignal(b *ir.Block) (signal, through bool) {
	for _, op := range b.Ops {
		switch {
		case op.Kind == ir.Fence:
			return signal, false
		case signals(op):
			return true, false // it fences itself once this pass has run
		case len(op.Regions) > 0 && op.Kind != ir.Fused:
			pass := isLoop(op)
			for _, r := range op.Regions {
				s, t := reachesSignal(r)
				signal, pass = signal || s, pass || t
			}
			if !pass {
				return signal, false
			}
		}
	}
	return signal, true
}
