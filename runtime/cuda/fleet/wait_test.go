package fleet

import (
	"testing"
	"time"

	"ptoc/runtime/cuda"
)

// A process that was stopped, as by Ctrl-Z, has not heard what the ranks did meanwhile: that time does not count.
func TestTimeDoesNotPassWhileTheHostIsStopped(t *testing.T) {
	ago := time.Now().Add(-time.Minute)
	for _, tt := range []struct {
		judged time.Time
		hangs  bool
	}{{time.Time{}, true}, {ago.Add(59900 * time.Millisecond), true}, {ago, false}} {
		w := &watch{e: &Engine{cfg: cuda.Config{Timeout: 10 * time.Second}}, moved: ago, judged: tt.judged}
		w.judge()
		if hangs := !w.stopped.IsZero(); hangs != tt.hangs {
			t.Errorf("looked at %v ago: hangs %v", time.Since(tt.judged), hangs)
		}
	}
}
