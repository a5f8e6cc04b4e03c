package run

import (
	"context"
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/diag/diagtest"
	"ptoc/lang/source"
)

// A loop whose blocks a GPU cannot run side by side is named when the program is compiled.
func TestBlocksThatRunInTurnAreNamed(t *testing.T) {
	row, ok := diag.Lookup(diag.BlocksInTurn.String())
	if !ok {
		t.Fatal("no such code")
	}
	name := file(t, row.Example)
	_, warnings, err := Build(context.Background(), BuildOptions{File: name, Target: "cuda", Emit: "llvm"})
	if err != nil {
		t.Fatal(err)
	}
	diagtest.Check(t, source.NewFile(name, row.Example), warnings)
	if _, warnings, err = Build(context.Background(), BuildOptions{File: name, Emit: "cpp"}); err != nil || warnings.Len() > 0 {
		t.Errorf("a CPU has one core for all: %v %v", warnings, err)
	}
}
