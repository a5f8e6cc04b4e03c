package native

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
)

// workerEnv, when set, makes a process the rank that it describes.
const workerEnv = "PTOC_WORKER"

// memoryFD is the inherited descriptor of the memory file.
const memoryFD = 3

type workerSpec struct {
	Rank, Ranks            int
	Engine                 string
	WindowBytes, HeapBytes int64
}

func (s workerSpec) encode() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return string(text)
}

// MaybeWorker turns this process into a rank when the engine of another process
// started it for that, and then never returns. main and TestMain must call it
// before anything else.
func MaybeWorker() {
	text := os.Getenv(workerEnv)
	if text == "" {
		return
	}
	if err := runWorker(text); err != nil {
		fmt.Fprintln(os.Stderr, "ptoc worker:", err)
		os.Exit(1)
	}
	syscall.Exit(0) // nothing is left to do, and os.Exit of a race build sleeps a second
}

func runWorker(text string) error {
	var s workerSpec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("%s: %w", workerEnv, err)
	}
	lib, err := openLibrary(s.Engine)
	if err != nil {
		return err
	}
	reg, err := mapShared(makeLayout(s.Ranks, s.WindowBytes, s.HeapBytes), os.NewFile(memoryFD, "ptoc"))
	if err != nil {
		return err
	}
	proc, err := lib.start(reg, s.Rank, 1)
	if err != nil {
		return err
	}
	lib.join(proc, -1)
	return nil
}
