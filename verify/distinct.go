package verify

import (
	"ptoc/ir"
	"ptoc/lang/diag"
)

// distinct reports memory parameters of a kernel that overlap although it writes one of them: code for kernels takes them to be
// different memory, and a run ends with the same error.
func (r *run) distinct(op *ir.Op, f *ir.Func, args []value) {
	if f.Kind != ir.Chip && f.Kind != ir.InCore {
		return
	}
	pairs, known := r.apart[f]
	if !known {
		pairs = ir.DistinctParams(f)
		r.apart[f] = pairs
	}
	for _, p := range pairs {
		a, b := args[p.First].mem, args[p.Second].mem
		if _, hit := a.bytes().overlaps(b.bytes()); hit {
			r.fault(diag.OverlapAtRun, op, "%s and %s of %s overlap, and it writes one of them", f.Params()[p.First].Name, f.Params()[p.Second].Name, f.Name)
			if last := r.faults[len(r.faults)-1]; last.Code == diag.OverlapAtRun && len(last.Helps) == 0 {
				last.Help("kernels take their parameters to be different memory: pass a copy, or the whole once, with offsets")
			}
		}
	}
}

// bytes are all that a view shows.
func (v *view) bytes() access {
	if product(v.dims) == 0 {
		return access{mem: v.mem, device: v.device}
	}
	return access{mem: v.mem, device: v.device, spans: whole(v).spans()}
}
