// Package passes lowers checked modules until code generators can print them. One pass is one function
// in one file; this file is the table that puts them in order, pipeline_run.go runs it.
package passes

import (
	"context"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
)

// Context is what a pass gets beside the module. Errors of the user's program go to Diags; a pass that
// finds an invariant broken panics, which Run reports as an internal error.
type Context struct {
	Diags  *diag.List
	Target string // what code is made for: "cpu" or "cuda"
	Ranks  int    // how many ranks the program will run on; 0 where that is not known yet
	Cache  int64  // bytes of the last level of caches of the CPU that the program will run on

	ctx context.Context // nil: nobody can interrupt the passes

	Choices []Choice // which algorithms LowerCompositeOps chose, for `ptoc run` to print
}

// poll ends the pass where somebody has interrupted the compilation. Passes call it wherever they may spend
// a long time; Run recovers it.
func (c *Context) poll() {
	if c.ctx != nil && c.ctx.Err() != nil {
		panic(interrupted{c.ctx.Err()})
	}
}

type interrupted struct{ cause error }

// Pass is one row of the table.
type Pass struct {
	Name   string
	run    func(*ir.Module, *Context)
	Needs  Props // what must hold before
	Makes  Props // what holds afterwards
	Breaks Props // what may hold no more
	Lowers bool  // collectives: synchronisation before it and after it cannot be compared
	Doc    string
}

// Props are facts about a module that one pass establishes and another relies on.
type Props uint16

const (
	Inlined         Props = 1 << iota // no inline functions
	Folded                            // constants folded, dead code gone, no pl.unroll loops
	SignalsGiven                      // every host allreduce has a signal
	DomainsNamed                      // every window allocation names its domain
	HostLowered                       // no collectives in host functions
	SlotsGiven                        // small allreduces have slots where that is possible
	CompositesGone                    // no composite ops at all
	TileOpsFused                      // elementwise tile ops, loads and stores only inside pl.fused
	Fenced                            // streaming writes are fenced before every signal
	SignalsPadded                     // signal cells have cache lines of their own where that is possible
	ScratchAssigned                   // every tile has its place in the arena
)

// table is the pipeline. The order is held against the properties and against the table below by a
// test.
var table = []Pass{
	// First: nothing after it wants to look through calls of inline functions.
	{Name: "InlineFunctions", run: inlineFunctions, Makes: Inlined, Breaks: Folded,
		Doc: "splice inline functions into their callers"},

	// Next: constant arguments of what was inlined decide branches and unroll counts, and every later
	// pass is faster on less code.
	{Name: "Simplify", run: simplify, Needs: Inlined, Makes: Folded,
		Doc: "fold constants and dims, drop dead code, unroll pl.unroll"},

	// Before domains: the buffers that it allocates belong to domains like all others.
	{Name: "SynthesizeAllreduceSignals", run: synthesizeAllreduceSignals, Needs: Inlined, Makes: SignalsGiven,
		Doc: "give host allreduces without a signal a window buffer of their own"},

	// Before host collectives: they are dispatched to the ranks of their domain, no others.
	{Name: "MaterializeCommDomainScopes", run: materializeCommDomainScopes, Needs: Inlined | SignalsGiven, Makes: DomainsNamed,
		Doc: "find which ranks share which windows; one scope a domain"},

	// Before composites: it makes kernels that contain them.
	{Name: "LowerHostTensorCollectives", run: lowerHostTensorCollectives, Needs: Inlined | SignalsGiven | DomainsNamed, Makes: HostLowered, Lowers: true,
		Doc: "turn host collectives into per-rank dispatches of library kernels"},

	// After host collectives, whose kernels contain such allreduces too; before composites, which choose by it.
	{Name: "AddEagerSlots", run: addEagerSlots, Needs: Inlined | DomainsNamed | HostLowered, Makes: SlotsGiven,
		Doc: "give small allreduces windows in which peers leave their messages"},

	// Before fusion: library code is tile code like the user's, and fuses with it.
	{Name: "LowerCompositeOps", run: lowerCompositeOps, Needs: Inlined | HostLowered | SlotsGiven, Makes: CompositesGone, Breaks: Folded, Lowers: true,
		Doc: "replace collectives inside kernels by inlined library code"},

	// Again: what the library left for constants to decide is decided now.
	{Name: "Simplify", run: simplify, Needs: Inlined, Makes: Folded,
		Doc: "fold what lowering made constant"},

	{Name: "FuseTileOps", run: fuseTileOps, Needs: Inlined | CompositesGone | Folded, Makes: TileOpsFused,
		Doc: "chains of tile ops become one loop with a scalar body"},

	// After fusion, which moves stores (but never across a signal) and decides which of them stream.
	{Name: "InsertCommFence", run: insertCommFence, Needs: CompositesGone, Makes: Fenced,
		Doc: "order streaming writes before signals"},

	// After everything that makes or reads signal windows.
	{Name: "PadSignalWindows", run: padSignalWindows, Needs: CompositesGone | HostLowered, Makes: SignalsPadded,
		Doc: "one signal cell a cache line, where nothing can see the difference"},

	// After fences, which stand in the way of loads as signals do.
	{Name: "PipelineLoads", run: pipelineLoads, Needs: TileOpsFused | Fenced,
		Doc: "begin the loads of a loop's next turns before the product of this one (GPUs)"},

	// Last: any change of tiles would make its offsets wrong.
	{Name: "PlanMemory", run: planMemory, Needs: TileOpsFused, Makes: ScratchAssigned,
		Doc: "place tiles in the arena, reusing memory by liveness"},
}

// constraint says that every row of first stands before every row of then.
type constraint struct {
	first, then string
	reason      string
}

// order holds what the properties above cannot say: why two passes stand in this order and not the
// other.
var order = []constraint{
	{"InlineFunctions", "SynthesizeAllreduceSignals", "an inline function may contain the allreduce; each place it is spliced into needs a signal of its own"},
	{"InlineFunctions", "MaterializeCommDomainScopes", "dispatches inside an inline function say which ranks a window belongs to"},
	{"InlineFunctions", "LowerCompositeOps", "library code is inlined by the same splicing and must not find calls of inline functions left"},
	{"SynthesizeAllreduceSignals", "MaterializeCommDomainScopes", "the new signal buffers need a domain too"},
	{"MaterializeCommDomainScopes", "LowerHostTensorCollectives", "a collective is dispatched to exactly the ranks of its domain"},
	{"MaterializeCommDomainScopes", "AddEagerSlots", "slots belong to the domain of the signal, which must be known"},
	{"LowerHostTensorCollectives", "AddEagerSlots", "the kernels that it makes want slots too, and its calls must hand them over"},
	{"AddEagerSlots", "LowerCompositeOps", "whether an allreduce has slots decides which algorithm it becomes"},
	{"LowerHostTensorCollectives", "LowerCompositeOps", "the kernels that it makes contain the collectives that get lowered"},
	{"LowerCompositeOps", "FuseTileOps", "library code should fuse like the user's; and fused loops may not contain collectives"},
	{"LowerCompositeOps", "InsertCommFence", "the notifies and streaming stores that need fences come from library code"},
	{"LowerCompositeOps", "PadSignalWindows", "only lowered code shows every access to a signal window"},
	{"FuseTileOps", "InsertCommFence", "fusion moves stores and marks the streaming ones; fences placed earlier could end up on the wrong side"},
	{"FuseTileOps", "PlanMemory", "tiles that fusion removes need no memory"},
	{"FuseTileOps", "PipelineLoads", "only fused loops show which loads hand on what they read"},
	{"InsertCommFence", "PipelineLoads", "a loop with a fence keeps its order, so fences must be there"},
	{"PipelineLoads", "PlanMemory", "tiles that are loaded ahead need places of their own"},
	{"InsertCommFence", "PlanMemory", "PlanMemory is last: its offsets describe the final ops"},
	{"PadSignalWindows", "PlanMemory", "PlanMemory is last: its offsets describe the final ops"},
}

// Passes lists the pipeline in order.
func Passes() []Pass { return append([]Pass(nil), table...) }

// Find returns a pass by name; case, dashes and underscores make no difference.
func Find(name string) (Pass, bool) {
	for _, p := range table {
		if sameName(p.Name, name) {
			return p, true
		}
	}
	return Pass{}, false
}

var separators = strings.NewReplacer("-", "", "_", "")

func sameName(pass, name string) bool { return strings.EqualFold(pass, separators.Replace(name)) }
