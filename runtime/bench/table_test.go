package bench

import (
	"math"
	"strings"
	"testing"
	"time"
)

type word string

func (w word) String() string { return "<" + string(w) + ">" }

func sampleTable() *Table {
	t := NewTable("what", "bytes", "time", "ratio", "ok")
	t.Row("push", Bytes(65536), Nanos(1250), Times(2.5), true)
	t.Row("über|all", Bytes(4), Nanos(12.34), Times(math.Inf(1)))
	t.Row(word("x"), Bytes(32<<20), 1500*time.Millisecond, 0.5, false)
	t.Note("%d ranks", 8)
	return t
}

func TestTableForms(t *testing.T) {
	text := `
what      bytes     time  ratio  ok
push        64K  1.25 us  2.50x  true
über|all      4  12.3 ns  +Infx
<x>         32M   1.50 s  0.500  false
8 ranks
`
	markdown := `
| what      | bytes |    time | ratio | ok    |
| --------- | ----: | ------: | ----: | ----- |
| push      |   64K | 1.25 us | 2.50x | true  |
| über\|all |     4 | 12.3 ns | +Infx |       |
| <x>       |   32M |  1.50 s | 0.500 | false |

8 ranks
`
	json := `
[
  {"what": "push", "bytes": 65536, "time": 1250, "ratio": 2.5, "ok": true},
  {"what": "über|all", "bytes": 4, "time": 12.34, "ratio": null, "ok": null},
  {"what": "<x>", "bytes": 33554432, "time": 1500000000, "ratio": 0.5, "ok": false}
]
`
	tab := sampleTable()
	for want, write := range map[string]func(*strings.Builder) error{
		text:     func(b *strings.Builder) error { return tab.WriteText(b) },
		markdown: func(b *strings.Builder) error { return tab.WriteMarkdown(b) },
		json:     func(b *strings.Builder) error { return tab.WriteJSON(b) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if got := "\n" + b.String(); got != want {
			t.Errorf("got:%s\nwant:%s", got, want)
		}
	}
	var b strings.Builder
	if NewTable("a").WriteJSON(&b); b.String() != "[]\n" {
		t.Errorf("empty: %q", b.String())
	}
}

func TestBytesReadBack(t *testing.T) {
	for s, n := range map[string]Bytes{"0": 0, "4": 4, "1K": 1024, "1536": 1536, "64K": 65536, "32M": 32 << 20, "2G": 2 << 30} {
		if got, err := ParseBytes(s); got != n || err != nil || n.String() != s {
			t.Errorf("%s: got %d, %v; prints as %s", s, got, err, n)
		}
	}
	for s, n := range map[string]Bytes{"64kib": 65536, " 1MB ": 1 << 20, "8b": 8} {
		if got, err := ParseBytes(s); got != n || err != nil {
			t.Errorf("%s: got %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "K", "-1", "1.5K", "9999999999G", "1KM"} {
		if n, err := ParseBytes(s); err == nil {
			t.Errorf("%q: got %d", s, n)
		}
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1.00", 12.345: "12.3", 1234.5: "1234", 0.0012345: "0.00123", -2.5: "-2.50", 1e-12: "1.00e-12", 1e6: "1000000",
	} {
		if got := short(x); got != want {
			t.Errorf("%v: got %s, want %s", x, got, want)
		}
	}
}
