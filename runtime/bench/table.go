package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Table is what a command prints: aligned text, JSON or Markdown. Cells are
// any values; JSON gets them as they are, text as their type prints: Bytes as
// 64K, Nanos as 1.25 us, a Duration likewise, a float with three significant
// digits, a Stringer by String. Columns of numbers are aligned to the right.
type Table struct {
	Columns []string
	rows    [][]any
	notes   []string
}

// NewTable names the columns.
func NewTable(columns ...string) *Table { return &Table{Columns: columns} }

// Row adds a row; missing cells are empty.
func (t *Table) Row(cells ...any) { t.rows = append(t.rows, cells) }

// Note adds a line below the table. JSON leaves it out.
func (t *Table) Note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// Bytes is a size: 4, 64K, 32M.
type Bytes int64

func (b Bytes) String() string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{30, "G"}, {20, "M"}, {10, "K"}} {
		if b != 0 && b%(1<<u.shift) == 0 {
			return strconv.FormatInt(int64(b>>u.shift), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// ParseBytes is the inverse: 4, 64K, 32M, 1G, also 64KiB and 64KB, all powers of two.
func ParseBytes(s string) (Bytes, error) {
	text := strings.ToUpper(strings.TrimSpace(s))
	text = strings.TrimSuffix(strings.TrimSuffix(text, "B"), "I")
	shift := 0
	if i := strings.IndexAny(text, "KMG"); i >= 0 && i == len(text)-1 {
		shift = map[byte]int{'K': 10, 'M': 20, 'G': 30}[text[i]]
		text = text[:i]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("expected a size such as 4, 64K or 32M, found %q", s)
	}
	return Bytes(n << shift), nil
}

// Nanos is a time in nanoseconds; JSON has it as that number.
type Nanos float64

func (n Nanos) String() string {
	x := float64(n)
	switch {
	case x < 1e3:
		return short(x) + " ns"
	case x < 1e6:
		return short(x/1e3) + " us"
	case x < 1e9:
		return short(x/1e6) + " ms"
	}
	return short(x/1e9) + " s"
}

// Times is a ratio: 2.5x.
type Times float64

func (x Times) String() string { return short(float64(x)) + "x" }

// short has three significant digits and no exponent: 0.00123, 1.25, 12.5, 1250.
func short(x float64) string {
	if x == 0 || math.IsInf(x, 0) || x != x {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	if digits > 9 { // too small to write out
		return strconv.FormatFloat(x, 'e', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', max(digits, 0), 64)
}

// text also says whether the cell is a number.
func text(cell any) (string, bool) {
	switch c := cell.(type) {
	case nil:
		return "", true // fits either kind of column
	case Bytes, Nanos, Times:
		return fmt.Sprint(c), true
	case time.Duration:
		return Nanos(c).String(), true
	case float64:
		return short(c), true
	case float32:
		return short(float64(c)), true
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Sprint(c), true
	}
	return fmt.Sprint(cell), false
}

// layout renders all cells and finds each column's width and kind.
func (t *Table) layout(escape *strings.Replacer) (cells [][]string, width []int, right []bool) {
	width, right = make([]int, len(t.Columns)), make([]bool, len(t.Columns))
	for j, name := range t.Columns {
		width[j], right[j] = utf8.RuneCountInString(name), len(t.rows) > 0
	}
	for _, row := range t.rows {
		line := make([]string, len(t.Columns))
		for j := range min(len(row), len(line)) {
			s, number := text(row[j])
			s = escape.Replace(s)
			line[j] = s
			width[j] = max(width[j], utf8.RuneCountInString(s))
			right[j] = right[j] && number
		}
		cells = append(cells, line)
	}
	return cells, width, right
}

// WriteText writes aligned columns, two blanks apart, without trailing blanks.
func (t *Table) WriteText(w io.Writer) error {
	cells, width, right := t.layout(strings.NewReplacer())
	var b bytes.Buffer
	for _, line := range append([][]string{t.Columns}, cells...) {
		var row strings.Builder
		for j, s := range line {
			if j > 0 {
				row.WriteString("  ")
			}
			row.WriteString(pad(s, width[j], right[j]))
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	for _, n := range t.notes {
		b.WriteString(n + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WriteMarkdown writes the form that docs use.
func (t *Table) WriteMarkdown(w io.Writer) error {
	cells, width, right := t.layout(strings.NewReplacer("|", "\\|", "\n", " "))
	rule := make([]string, len(t.Columns))
	for j := range rule {
		width[j] = max(width[j], 3)
		rule[j] = strings.Repeat("-", width[j])
		if right[j] {
			rule[j] = rule[j][1:] + ":"
		}
	}
	var b bytes.Buffer
	for _, line := range append([][]string{t.Columns, rule}, cells...) {
		for j, s := range line {
			b.WriteString("| " + pad(s, width[j], right[j]) + " ")
		}
		b.WriteString("|\n")
	}
	for _, n := range t.notes {
		b.WriteString("\n" + n + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

func pad(s string, width int, right bool) string {
	fill := strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
	if right {
		return fill + s
	}
	return s + fill
}

// WriteJSON writes a list of objects, their keys in the order of the columns.
func (t *Table) WriteJSON(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("[")
	for i, row := range t.rows {
		b.WriteString(strings.Repeat(",", min(i, 1)) + "\n  {")
		for j, name := range t.Columns {
			var cell any
			if j < len(row) {
				cell = row[j]
			}
			key, err1 := marshal(name)
			value, err2 := jsonCell(cell)
			if err := cmp.Or(err1, err2); err != nil {
				return fmt.Errorf("column %s: %w", name, err)
			}
			b.WriteString(strings.Repeat(", ", min(j, 1)))
			b.Write(append(append(key, ": "...), value...))
		}
		b.WriteString("}")
	}
	b.WriteString(strings.Repeat("\n", min(len(t.rows), 1)) + "]\n")
	_, err := w.Write(b.Bytes())
	return err
}

// jsonCell: JSON has no NaN and no infinity.
func jsonCell(cell any) ([]byte, error) {
	switch c := cell.(type) {
	case float64:
		if math.IsNaN(c) || math.IsInf(c, 0) {
			return []byte("null"), nil
		}
	case Nanos:
		return jsonCell(float64(c))
	case Times:
		return jsonCell(float64(c))
	case json.Marshaler:
	case fmt.Stringer:
		if _, number := text(cell); !number {
			return marshal(c.String())
		}
	case error:
		return marshal(c.Error())
	}
	return marshal(cell)
}

// marshal leaves <, > and & readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
