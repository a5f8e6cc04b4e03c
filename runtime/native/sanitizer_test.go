package native

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"ptoc/codegen/toolchain"
)

// underThreadSanitizer runs tests of this binary in a process into which the
// thread sanitizer is preloaded, with the engine and the kernels built for it.
func underThreadSanitizer(t *testing.T, tests string) (output string, err error) {
	t.Helper()
	c, err := toolchain.Find()
	if err != nil {
		t.Skip(err)
	}
	lib, err := c.Runtime(toolchain.ThreadSanitizer)
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run="+tests)
	cmd.Env = append(os.Environ(), "PTOC_TEST_SANITIZER=thread", "LD_PRELOAD="+lib, "TSAN_OPTIONS=halt_on_error=1")
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "unexpected memory mapping") {
		t.Skip("the thread sanitizer does not run on this kernel's address space layout")
	}
	return string(out), err
}

func TestThreadSanitizerFindsNoRaceInTheEngine(t *testing.T) {
	if sanitizer != "" {
		t.Skip("runs under the sanitizer already")
	}
	out, err := underThreadSanitizer(t, "^(TestKernelsSeeHostTensors|TestSignalsOrderRemoteWrites|TestPingPong|TestADomain.*|"+
		"TestARing.*|TestArena.*|TestAHang.*|TestAFault.*|TestClose.*)$/^(thread|Threads)")
	if err != nil || strings.Contains(out, "WARNING: ThreadSanitizer") || !strings.Contains(out, "--- PASS: TestPingPong/thread/2") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestThreadSanitizerFindsARaceInAKernel(t *testing.T) {
	if sanitizer != "" {
		f := open(t, Config{Ranks: 2})
		f.submitAll(f.kernel("race"), InDomain(f.all()), Int(f.window(4)))
		f.wait()
		return
	}
	out, err := underThreadSanitizer(t, "^TestThreadSanitizerFindsARaceInAKernel$")
	if err == nil || !strings.Contains(out, "data race") || !strings.Contains(out, "kernels.cpp") {
		t.Errorf("the race was not found: %v\n%s", err, out)
	}
}
