package sharedlib

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// However busy the other goroutines are, an error says which library and why.
func TestAnErrorHasItsReason(t *testing.T) {
	var all sync.WaitGroup
	for g := range 4 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := range 200 {
				name := fmt.Sprintf("libnone-%d-%d.so", g, i)
				if _, err := Open(name); err == nil || !strings.Contains(err.Error(), name+": cannot open shared object file") {
					t.Errorf("%s: %q", name, err)
					return
				}
				runtime.Gosched()
			}
		})
	}
	all.Wait()
}
