package passes

import (
	"fmt"
	"maps"

	"ptoc/ir"
)

// Which algorithm an allreduce becomes. The table is docs/passes/lower-composite-ops.md.

// What the choice of mode="auto" and "mesh" rests on, measured on shared memory (docs/performance.md):
// up to smallBytes signalling costs more than data, so that central wins; from a largePart-th of the last level of
// caches on, messages of all ranks do not stay there, so that stores past them win.
const (
	smallBytes   = 4 << 10
	largePart    = 8
	oneshotBytes = 64 << 10 // mode="oneshot": the whole message must fit one tile
)

// Where eager has slots (AddEagerSlots) it beats central as long as few cache lines travel: a message from each of
// n ranks to each other one. So there are few ranks, and a half of the slots holds a message of each.
const (
	lineBytes  = 64
	eagerLines = 96
	eagerRanks = 10
)

// eagerPays reports whether n ranks should exchange messages of so many bytes eagerly. eager.pl says the same where
// one of the two is known only at run time.
func eagerPays(bytes, n int64) bool {
	return n*(n-1)*max((bytes+lineBytes-1)/lineBytes, 1) <= eagerLines
}

// algorithm is library code for an allreduce.
type algorithm struct {
	name        string // of the library function
	chosen, why string // for people
	slots       bool   // it takes slots and turns
	noSignal    bool   // it does without the signal
	consts      map[string]any
}

// message is what the choice looks at.
type message struct {
	mode  string
	elems int64
	size  int64 // of an element
	known bool  // the length is
	ranks int64 // 0: known at run time
	slots bool  // there are slots
	large int64 // bytes from which stores go past the caches
}

func (m message) bytes() int64 { return m.elems * m.size }

// allreduce picks the algorithm. target is [1, elements].
func (l *composites) allreduce(op *ir.Op, target, signal *ir.Value) template {
	t := target.Type.(*ir.Tensor)
	elems, known := t.Dims[1].Const()
	m := message{mode: op.Str("mode"), elems: elems, size: int64(t.DType.Size()), known: known, ranks: int64(l.c.Ranks),
		slots: op.Val("slots") != nil, large: l.c.Cache / largePart}
	a := m.choose()
	consts := map[string]any{"op": op.Enum("op")}
	maps.Copy(consts, a.consts)
	args := []*ir.Value{target}
	if !a.noSignal {
		args = append(args, signal)
	}
	if a.slots {
		args = append(args, op.Val("slots"), op.Val("turns"))
	}
	l.c.Choices = append(l.c.Choices, Choice{At: op.Span, Op: "allreduce", Mode: m.mode, Chosen: a.chosen, Why: a.why, Bytes: m.bytes()})
	return template{a.name, args, consts}
}

func (m message) choose() algorithm {
	switch {
	case m.mode == "ring":
		return algorithm{name: "allreduce_ring", chosen: "ring"}
	case m.mode == "central":
		return m.central()
	case !m.known:
		return m.bySize()
	case m.mode == "oneshot" && m.bytes() <= oneshotBytes, m.mode == "mesh" && m.bytes() <= smallBytes:
		return algorithm{name: "allreduce_oneshot", chosen: "oneshot", why: bytesText(m.bytes()), consts: map[string]any{"cap": max(m.elems, 1)}}
	case (m.mode == "auto" || m.mode == "eager") && m.bytes() <= smallBytes:
		return m.small()
	}
	a := algorithm{name: "allreduce_push", chosen: "push", why: bytesText(m.bytes()), consts: map[string]any{"stream": m.bytes() >= m.large}}
	if m.bytes() >= m.large {
		a.why += ", streaming stores"
	}
	return a
}

func (m message) central() algorithm {
	a := algorithm{name: "allreduce_central", chosen: "central"}
	if m.known {
		a.why = bytesText(m.bytes())
	}
	return a
}

// small is a message of known length for which signalling costs more than data.
func (m message) small() algorithm {
	switch {
	case !m.slots || !eagerPays(m.bytes(), max(m.ranks, 2)):
		return m.central()
	case m.ranks > 0:
		return algorithm{name: "allreduce_eager", chosen: "eager", why: bytesText(m.bytes()), slots: true, noSignal: true, consts: m.eager()}
	}
	n := int64(2)
	for eagerPays(m.bytes(), n+1) {
		n++
	}
	why := fmt.Sprintf("%s: eager up to %d ranks", bytesText(m.bytes()), n)
	return algorithm{name: "allreduce_small", chosen: "eager or central", why: why, slots: true, consts: m.eager()}
}

// eager are the compile-time arguments of eager.pl.
func (m message) eager() map[string]any {
	line := lineBytes / m.size
	most := eagerLines / 2 * line // by two ranks
	if m.known {
		most = max(m.elems, 1)
	}
	return map[string]any{"cap": most, "line": line, "lines": int64(eagerLines)}
}

// bySize is for messages whose length is known only when the kernel runs: it holds all algorithms that may be the right one.
func (m message) bySize() algorithm {
	large := map[string]any{"large": m.large / m.size}
	if m.mode == "push" {
		return algorithm{name: "allreduce_push_by_size", chosen: "push", why: "length known at run time", consts: large}
	}
	a := algorithm{name: "allreduce_by_size", chosen: "central or push", consts: large}
	limit := int64(smallBytes)
	a.consts["central"] = true
	switch {
	case m.mode == "oneshot" || m.mode == "mesh":
		if m.mode == "oneshot" {
			limit = oneshotBytes
		}
		a.chosen, a.consts["central"] = "oneshot or push", false
	case m.slots:
		a.name, a.chosen, a.slots = "allreduce_any", "eager, central or push", true
		maps.Copy(a.consts, m.eager())
	}
	a.consts["small"] = limit / m.size
	a.why = fmt.Sprintf("length known at run time: push above %s", bytesText(limit))
	return a
}

// bytesText writes a size as people say it.
func bytesText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
