package verify

import (
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// A race that reasoning finds first and a run finds again is told once, with the token that replays the run.
func TestAFaultThatTwoLayersFindIsToldOnceAndCanBeReplayed(t *testing.T) {
	find := func(layer, replay string, ranks int) Finding {
		return Finding{Diagnostic: diag.New(diag.DataRace, source.Span{}, "%s", layer), Layer: layer, Scope: Scope{Ranks: ranks}, Replay: replay}
	}
	r := &Report{Verdicts: []Verdict{
		{Layer: "order", Findings: []Finding{find("order", "", 2)}},
		{Layer: "memory", Findings: []Finding{find("memory", "of 3 ranks", 3), find("memory", "of 2 ranks", 2)}},
	}}
	outside := func(code diag.Code, layer, replay string) Finding {
		return Finding{Diagnostic: diag.New(code, source.Span{}, "%s", layer), Layer: layer, Scope: Scope{Ranks: 2}, Replay: replay}
	}
	bounds := &Report{Verdicts: []Verdict{
		{Layer: "bounds", Findings: []Finding{outside(diag.OutOfBounds, "bounds", "")}},
		{Layer: "memory", Findings: []Finding{outside(diag.AccessOutside, "memory", "a run"), outside(diag.PeerOutside, "memory", "")}},
	}}
	if got := bounds.Findings(); len(got) != 2 || got[0].Code != diag.OutOfBounds || got[0].Replay != "a run" || got[1].Code != diag.PeerOutside {
		t.Errorf("got %+v", got)
	}
	got := r.Findings()
	if len(got) != 1 || got[0].Layer != "order" || got[0].Replay != "of 2 ranks" {
		t.Errorf("got %+v", got)
	}
}
