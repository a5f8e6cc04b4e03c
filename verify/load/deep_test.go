package load

import (
	"fmt"
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/verify"
)

// What every compile looks at is linear in the program. Each of these took a number of steps that doubles
// or triples with every level.
func TestDeepProgramsAreLookedAtInLinearTime(t *testing.T) {
	branches := "    if me == 0:\n        signal = pld.tensor.barrier(signal)\n"
	for i := range 200 {
		branches += fmt.Sprintf("    elif me == %d:\n        pl.write(y, [0, 0], 1.0)\n", i+1)
	}
	loops := ""
	for i := range 15 {
		loops += strings.Repeat(" ", 4+i) + fmt.Sprintf("for i%d in pl.range(me):\n", i)
	}
	loops += strings.Repeat(" ", 20) + "signal = pld.tensor.barrier(signal)\n"
	for name, body := range map[string]string{"branches": branches, "loops": loops} {
		findings, _ := verify.Uniformity(unit(t, around(body)).Checked)
		if len(findings) != 1 || findings[0].Code != diag.RankDependent {
			t.Errorf("%s: %v", name, findings)
		}
	}
}
