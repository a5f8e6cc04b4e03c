package ptxrun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ptoc/codegen/toolchain"
	"ptoc/verify/library"
)

// checkHost runs a program as machine code and compares it with its golden function, or the simulator.
func checkHost(t *testing.T, file string, ranks int) {
	_, r, err := runFile(file, ranks, Config{Host: true})
	if errors.Is(err, ErrMissing) || errors.Is(err, toolchain.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if bad := wrong(r); bad != "" {
		t.Error(bad)
	}
}

// Every example gives what its golden function says when its kernels' LLVM IR runs as machine code, one
// thread of the system a block.
func TestExamplesAsMachineCode(t *testing.T) {
	files, _ := filepath.Glob("../../examples/*.pl")
	more, _ := filepath.Glob("../../examples/course/*.pl")
	for _, file := range append(files, more...) {
		for _, ranks := range []int{3, 8} {
			t.Run(fmt.Sprintf("%s/ranks=%d", filepath.Base(file), ranks), func(t *testing.T) { checkHost(t, file, ranks) })
		}
	}
}

// The library's collectives, on messages that the interpreter would take long for.
func TestLargeMessages(t *testing.T) {
	for _, p := range library.Programs(50_001, 2) {
		t.Run(p.Name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), p.Name+".pl")
			if err := os.WriteFile(file, []byte(p.Text), 0o644); err != nil {
				t.Fatal(err)
			}
			checkHost(t, file, 4)
		})
	}
}
