package lower

import (
	"testing"

	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/lang/syntax"
)

// What is asked about the ops of one kernel, and what is known.
const asked = `NR = pl.dynamic("NR")
N = pl.dynamic("N")

@pl.jit.incore
def step(x: pl.Tensor[[N, 64], pl.FP32], k: pl.Scalar[pl.INDEX], d: pl.InOut[pld.DistributedTensor[[N, 64], pl.FP32]],
         s: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(s))
    n = pld.nranks(pld.get_comm_ctx(s))
    pld.system.notify(s, 0, [0, 0], 1)
    pld.system.notify(s, n - 1, [0, 0], 1)
    pld.system.notify(s, n, [0, 0], 1)
    pld.system.notify(s, k, [0, 0], 1)
    for i in pl.range(n):
        peer = (me + i) % n
        pld.system.notify(s, peer, [0, 0], 1)
        j = i // 2
        q = k // 2
        pld.system.notify(s, j, [0, 0], q * 0 + 1)
`

func TestChecksThatCannotFailAreNotNeeded(t *testing.T) {
	l := &diag.List{}
	m := check.File(syntax.Parse(source.NewFile("step.pl", asked), syntax.ModeFor("step.pl"), l), check.Options{}, l)
	if l.HasErrors() {
		t.Fatal(l)
	}
	f := m.Func("step")
	c := ChecksOf(f)
	var peers []bool
	var divisions []Division
	f.Body.Walk(func(op *ir.Op) {
		switch op.Kind {
		case ir.Notify:
			peers = append(peers, c.Peer(op, op.Val("peer")))
		case ir.Modulo, ir.FloorDivide:
			divisions = append(divisions, c.Division(ir.DimOf(op.Operands()[0]), ir.DimOf(op.Operands()[1])))
		}
	})
	same(t, "peers", peers, []bool{true, true, false, false, true, true})
	same(t, "divisions", divisions, []Division{Once, Unsigned, Floored})
	n := ir.SymDim("N")
	same(t, "extents", []bool{c.Extent(n, n), c.Extent(n, ir.ConstDim(8)), c.Extent(ir.ConstDim(-1), n)}, []bool{true, false, false})
	same(t, "cells", []bool{c.Cell(ir.ConstDim(0), ir.ConstDim(1)), c.Cell(n, n), c.Cell(n.Sub(one), n)}, []bool{true, false, false})
}

func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, not %v", what, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: %d is %v, not %v", what, i, got[i], want[i])
		}
	}
}
