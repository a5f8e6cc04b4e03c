package opt

import (
	"testing"

	"ptoc/lang/source"
)

// What a reproducer shows is found by looking after every pass, whether or not that was asked for.
func TestAReproducerIsLookedAtAfterEveryPass(t *testing.T) {
	for text, each := range map[string]bool{
		"# ptoc opt --passes FuseTileOps,PlanMemory\n# a fault\n": true,
		"NR = pl.dynamic(\"NR\")\n":                               false,
	} {
		o := Job{}.options(source.NewFile("k.pl", text), &run{})
		if o.VerifyEach != each || (o.Watch != nil) != each || (o.Reparse != nil) != each {
			t.Errorf("%q: verified %v, watched %v, read back %v; want %v", text, o.VerifyEach, o.Watch != nil, o.Reparse != nil, each)
		}
		if (len(o.Passes) == 2) != each {
			t.Errorf("%q: passes %v", text, o.Passes)
		}
	}
}
