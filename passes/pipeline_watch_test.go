package passes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptoc/ir"
	"ptoc/lang/check"
	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/verify"
)

// spoil are passes with a fault: what a real one must never do.
var spoil = map[string]func(m *ir.Module, c *Context){
	"drops a notify": func(m *ir.Module, _ *Context) {
		onFirst(m, ir.Notify, func(b *ir.Block, i int) { b.Ops = slices.Delete(b.Ops, i, i+1) })
	},
	"drops a wait": func(m *ir.Module, _ *Context) {
		onFirst(m, ir.Wait, func(b *ir.Block, i int) { b.Ops = slices.Delete(b.Ops, i, i+1) })
	},
	"repeats a notify": func(m *ir.Module, _ *Context) {
		onFirst(m, ir.Notify, func(b *ir.Block, i int) { b.Ops = slices.Insert(b.Ops, i, b.Ops[i]) })
	},
	"moves a store behind the notify": func(m *ir.Module, _ *Context) {
		onFirst(m, ir.Put, func(b *ir.Block, i int) {
			put := b.Ops[i]
			at := slices.IndexFunc(b.Ops, func(op *ir.Op) bool { return op.Kind == ir.Notify })
			b.Ops = slices.Insert(b.Ops, at+1, put)
			b.Ops = slices.Delete(b.Ops, i, i+1)
		})
	},
}

func onFirst(m *ir.Module, k *ir.Kind, fn func(b *ir.Block, i int)) {
	for _, f := range m.Funcs {
		found := false
		f.WalkBlocks(func(b *ir.Block) {
			i := slices.IndexFunc(b.Ops, func(op *ir.Op) bool { return op.Kind == k })
			if i >= 0 && !found {
				found = true
				fn(b, i)
			}
		})
		if found {
			return
		}
	}
	panic("no " + k.Name)
}

func TestEveryCompileNamesThePassThatSpoilsTheSynchronisation(t *testing.T) {
	const name = "../tests/bugs/03-signal-before-data_fixed.pl"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, fault := range spoil {
		for _, each := range []bool{false, true} {
			list, dir := &diag.List{}, t.TempDir()
			m := Load(source.NewFile(name, string(text)), check.Options{}, list)
			if list.HasErrors() {
				t.Fatal(list)
			}
			at := slices.IndexFunc(table, func(p Pass) bool { return p.Name == "FuseTileOps" })
			rows := slices.Insert(slices.Clone(table), at, Pass{Name: "Broken", run: fault})
			r := &runner{m: m, rows: rows, c: &Context{Diags: list},
				o: Options{VerifyEach: each, Watch: verify.WatchSync("", verify.StepsInCompile), ReproducerDir: dir}}
			r.run()
			all := list.Sorted()
			if len(all) != 1 || all[0].Code != diag.SyncChanged || !strings.Contains(all[0].Message, "pass Broken") || len(all[0].Helps) == 0 {
				t.Errorf("%s, after each pass: %v: %v", what, each, list.Err())
				continue
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*.pl"))
			if len(files) != 1 {
				t.Fatalf("%s: reproducers %v", what, files)
			}
			repro, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if run, _ := PassesOf(string(repro)); len(run) == 0 || run[0] != "Broken" {
				t.Errorf("%s, after each pass: %v: the reproducer starts with the passes %v", what, each, run)
			}
			before, err := Reparse(source.NewFile("repro.pl", string(repro)))
			if err != nil {
				t.Fatalf("%s: the reproducer does not read back: %v", what, err)
			}
			look := verify.WatchSync("", verify.StepsInCompile)(before)
			fault(before, &Context{Diags: &diag.List{}})
			if d := look("Broken", before); d == nil || d.Message != all[0].Message {
				t.Errorf("%s, after each pass: %v: the reproducer shows %v, not %s", what, each, d, all[0].Message)
			}
		}
	}
}
