package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ptoc/codegen/ptx"
	"ptoc/codegen/toolchain"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ptoc": main})
}

// The scripts in testdata/script run the whole tool as a shell would. $EXAMPLES is the folder of the
// examples; the condition [compiler] says whether there is a C++ compiler, [llvm]
// whether there is LLVM.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("PTOC_CACHE", filepath.Join(env.WorkDir, ".cache"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "compiler":
				_, err := toolchain.Find()
				return err == nil, nil
			case "llvm":
				_, err := ptx.Compile("", "sm_80")
				return !errors.Is(err, ptx.ErrNoLLVM), nil
			}
			return false, nil
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// Reading the standard input does not look at the context that a signal cancels.
func TestAnInterruptedCommandEndsWhateverItDoes(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close() // nothing is written: the command waits
	cmd := exec.Command("ptoc", "fmt", "-")
	var errs strings.Builder
	cmd.Stdin, cmd.Stderr = r, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // until it listens to signals
	cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(interruptGrace + 20*time.Second):
		cmd.Process.Kill()
		t.Fatal("it goes on after SIGTERM")
	}
	// Killed where the signal came early: -1.
	if code := cmd.ProcessState.ExitCode(); code != 130 && code != -1 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
