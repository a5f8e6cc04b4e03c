package source_test

import (
	"testing"

	"ptoc/lang/source"
)

func TestPositionsCountRunesAndAllLineEnds(t *testing.T) {
	f := source.NewFile("k.pl", "\ufeffé=1\r\nb\rcc\n")
	for _, tc := range []struct {
		offset int
		want   string
	}{{0, "1:1"}, {3, "1:1"}, {5, "1:2"}, {9, "2:1"}, {11, "3:1"}, {13, "3:3"}, {14, "4:1"}, {99, "4:1"}, {-1, "1:1"}} {
		if got := f.Pos(tc.offset).String(); got != tc.want {
			t.Errorf("Pos(%d) = %s, want %s", tc.offset, got, tc.want)
		}
	}
	for n, want := range map[int]string{0: "", 1: "é=1", 2: "b", 3: "cc", 4: "", 5: ""} {
		if got := f.Line(n); got != want {
			t.Errorf("Line(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestZeroSpanIsNowhere(t *testing.T) {
	var s source.Span
	f := source.NewFile("k.pl", "abc")
	if s.IsValid() || s.String() != "-" || s.Text() != "" || s.To(f.Span(1, 2)) != f.Span(1, 2) || f.Span(1, 2).To(s) != f.Span(1, 2) {
		t.Error("the zero span stands somewhere")
	}
	if got := f.Span(2, 3).To(f.Span(0, 1)); got.Text() != "abc" {
		t.Errorf("joined: %q", got.Text())
	}
}
