package passes

import (
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// A sketch is a kernel in shorthand, one letter an op:
//
//	s streaming store   p plain store   n notify   w wait   f fence
//	( ... ) loop        [ ... | ... ] branch      { ... ? ... } while loop, left at the ?
//
// The pass is tested on sketches: they show the data flow and nothing else.
type sketch struct {
	f      *ir.Func
	x, sig *ir.Value
	flag   *ir.Value
}

func build(text string) *ir.Func {
	s := &sketch{f: ir.NewFunc("k", ir.InCore, source.Span{})}
	s.x = s.f.AddParam("x", &ir.Tensor{Dims: []ir.Dim{ir.ConstDim(1), ir.ConstDim(64)}, DType: ir.FP32}, ir.InOut)
	s.sig = s.f.AddParam("s", &ir.Tensor{Dims: []ir.Dim{ir.ConstDim(8), ir.ConstDim(1)}, DType: ir.INT32, Window: true}, ir.InOut)
	s.flag = s.f.AddParam("c", &ir.Scalar{DType: ir.BOOL}, ir.In)
	b := ir.NewBuilder(s.f, s.f.Body)
	s.block(b, text)
	b.Return()
	return s.f
}

// block builds text up to the end or to an unmatched closing mark, and returns the rest.
func (s *sketch) block(b *ir.Builder, text string) string {
	zero := ir.Index(0)
	for len(text) > 0 {
		c := text[0]
		text = text[1:]
		switch c {
		case ' ':
		case 's', 'p':
			t := b.Add(ir.Full).Set("shape", ir.Index(1), ir.Index(64)).SetAttr("dtype", ir.FP32).
				Set("value", ir.FloatValue(1, ir.FP32)).Must().Result()
			b.Add(ir.Store).Set("tile", t).Set("offsets", zero, zero).Set("tensor", s.x).SetAttr("stream", c == 's').Must()
		case 'n':
			b.Add(ir.Notify).Set("target", s.sig).Set("peer", zero).Set("offsets", zero, zero).Set("value", ir.Index(1)).Must()
		case 'w':
			b.Add(ir.Wait).Set("signal", s.sig).Set("offsets", zero, zero).Set("expected", ir.Index(1)).Must()
		case 'f':
			b.Add(ir.Fence).Must()
		case '(':
			_, body := b.For("range", zero, ir.Index(4), ir.Index(1))
			text = s.block(body, text)
		case '{':
			_, body := b.While()
			text = s.block(body, text)
		case '?':
			b.Cond(s.flag)
		case '[':
			_, then, els := b.If(s.flag)
			text = s.block(els, s.block(then, text))
		case ')', '}', '|', ']':
			return text
		}
	}
	return ""
}

// show writes a function as a sketch.
func show(b *ir.Block) string {
	var out strings.Builder
	for _, op := range b.Ops {
		switch op.Kind {
		case ir.Store:
			if op.Bool("stream") {
				out.WriteByte('s')
			} else {
				out.WriteByte('p')
			}
		case ir.Notify:
			out.WriteByte('n')
		case ir.Wait:
			out.WriteByte('w')
		case ir.Fence:
			out.WriteByte('f')
		case ir.Cond:
			out.WriteByte('?')
		case ir.For:
			out.WriteString("(" + show(op.Regions[0]) + ")")
		case ir.While:
			out.WriteString("{" + show(op.Regions[0]) + "}")
		case ir.If:
			out.WriteString("[" + show(op.Regions[0]) + "|" + show(op.Regions[1]) + "]")
		}
	}
	return out.String()
}

func TestInsertCommFence(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"notify behind a streaming store", "sn", "sfn"},
		{"plain stores need none", "pnpw", "pnpw"},
		{"one fence for several stores", "ssn", "ssfn"},
		{"one fence for a loop of notifies", "s(n)", "sf(n)"},
		{"one fence for a loop of stores", "(s)n", "(s)fn"},
		{"every iteration announces its own store", "(sn)", "(sfn)"},
		{"an iteration announces the one before", "(ns)", "(nsf)"},
		{"a loop may run no iteration", "s(f)n", "s(f)fn"},
		{"store in one arm", "[s|p]n", "[s|p]fn"},
		{"notify in one arm", "s[n|p]n", "s[fn|p]fn"},
		{"fenced in both arms", "s[f|f]n", "s[f|f]n"},
		{"fenced in one arm", "s[f|]n", "s[f|]fn"},
		{"wait orders nothing of ours", "swn", "swfn"},
		{"end of the kernel", "s", "sf"},
		{"there already", "sfnsfn", "sfnsfn"},
		{"loop in a loop", "((s)(n))", "((s)f(n))"},
		{"store carried around two loops", "(n(s))", "(n(s)f)"},
		{"while loop leaves in the middle", "{s?f}n", "{s?f}fn"},
		{"while loop with the notify first", "{n?s}", "{n?sf}"},
		{"while loop that fences on its way out", "{sf?}n", "{sf?}n"},
		{"branch in a loop", "([s|]n)", "([s|]fn)"},
		{"branch announces the iteration before", "([n|]s)", "([n|]sf)"},
		{"fence first in the loop", "(fns)", "(fns)f"},
	}
	for _, tt := range tests {
		m := &ir.Module{Funcs: []*ir.Func{build(tt.in)}}
		f := m.Funcs[0]
		if got, before := show(f.Body), len(unfencedSignals(f)); (before == 0) != (tt.in == tt.want) {
			t.Errorf("%s: %s: the checker finds %d places", tt.name, got, before)
		}
		insertCommFence(m, &Context{Diags: &diag.List{}})
		if got := show(f.Body); got != tt.want {
			t.Errorf("%s: %s became %s, want %s", tt.name, tt.in, got, tt.want)
		}
		if left := unfencedSignals(f); len(left) > 0 {
			t.Errorf("%s: %s still has %d unfenced places", tt.name, show(f.Body), len(left))
		}
		insertCommFence(m, &Context{Diags: &diag.List{}})
		if got := show(f.Body); got != tt.want {
			t.Errorf("%s: the second run made %s of %s", tt.name, got, tt.want)
		}
	}
}

// The property that the pass establishes holds in what comes out of the whole pipeline.
func TestNoSignalLeavesThePipelineUnfenced(t *testing.T) {
	src := source.NewFile("large.pl", `NR = pl.dynamic("NR")
N = pl.dynamic("N")

@pl.jit.incore
def step(a: pl.InOut[pld.DistributedTensor[[1, N], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]]):
    for k in pl.range(3):
        pld.tensor.allreduce(a, s)
`)
	var list diag.List
	m := Load(src, check.Options{}, &list)
	list.Merge(Run(m, Options{VerifyEach: true}))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	fences := 0
	for _, f := range m.Funcs {
		f.Walk(func(op *ir.Op) {
			if op.Kind == ir.Fence {
				fences++
			}
		})
		for _, op := range unfencedSignals(f) {
			t.Errorf("%s is reached with streaming writes pending", op.Kind.Name)
		}
	}
	if fences == 0 {
		t.Error("no fence at all: does nothing stream?")
	}
}
