package textdiff

import (
	"strings"
	"testing"
)

func TestOnlyTheNeighbourhoodOfChangesIsShown(t *testing.T) {
	a := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	b := strings.Replace(strings.Replace(a, "5\n", "five\n", 1), "12\n", "12\n13\n", 1)
	want := " ...\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n ...\n 10\n 11\n 12\n+13\n"
	if got := Lines(a, b, false); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := Lines(a, a, false); got != "" {
		t.Errorf("equal texts differ:\n%s", got)
	}
	if got := Lines("a\n", "b\n", true); got != "\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n" {
		t.Errorf("%q", got)
	}
}
