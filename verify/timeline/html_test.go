package timeline

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"ptoc/lang/diag"
	"ptoc/lang/source"
	"ptoc/verify"
)

func TestAPageNeedsNothingElseAndDrawsAnArrowForEachCredit(t *testing.T) {
	f := verify.Finding{Diagnostic: diag.New(diag.WaitCycle, source.Span{}, "rank 1 waits for <ever>"), Timeline: []verify.Event{
		{Rank: 0, Step: 0, Kind: "notify", Text: "signal[0] += 1 on rank 1"},
		{Rank: 1, Step: 0, Kind: "wait", Text: "waits for signal[0] >= 1", From: [][2]int{{0, 0}}},
		{Rank: 1, Step: 1, Kind: "blocked", Text: "waits for signal[0] >= 2", From: [][2]int{{0, 9}}},
	}}
	var b strings.Builder
	if err := WriteHTML(&b, "ring.pl", []verify.Finding{f}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if n := strings.Count(text, "class=arrow"); n != 1 {
		t.Errorf("%d arrows, want 1: the other credit is not part of the picture", n)
	}
	if strings.Contains(text, "http") || strings.Contains(text, "<ever>") || !strings.Contains(text, "circle class=blocked") {
		t.Errorf("the page refers to the network, or its text is not escaped, or a blocked wait is not shown:\n%s", text)
	}
	wellFormed(t, text)
}

// wellFormed: every element is closed.
func wellFormed(t *testing.T, text string) {
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false
	d.AutoClose = append(xml.HTMLAutoClose, "meta", "li")
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
