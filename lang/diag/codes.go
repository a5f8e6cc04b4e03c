package diag

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Code names a kind of diagnostic for ever: it is never reused for another meaning.
//
// Families, one file of rows each:
//
//	E01xx syntax         codes_syntax.go
//	E02xx names          codes_names.go
//	E03xx types          codes_types.go
//	E04xx shapes         codes_shapes.go
//	E05xx distributed    codes_dist.go
//	E06xx signalling     codes_verify.go
//	E07xx run, files     codes_runtime.go
//	E09xx internal       codes_internal.go
type Code uint16

func (c Code) String() string { return fmt.Sprintf("E%04d", uint16(c)) }

// Family returns the name of the family that the code belongs to.
func (c Code) Family() string {
	switch c / 100 {
	case 1:
		return "syntax"
	case 2:
		return "names"
	case 3:
		return "types"
	case 4:
		return "shapes"
	case 5:
		return "distributed"
	case 6:
		return "signalling"
	case 7:
		return "runtime"
	}
	return "internal"
}

// A Row is everything about a code: docs/errors.md, `ptoc explain` and a test are made from it.
type Row struct {
	Code  Code
	Title string // a short noun phrase
	Doc   string // one or two sentences: what is wrong and why it is refused
	// Example is a smallest program that fires the code, with `# ERROR "regexp"` on the line where it
	// does. Empty where no program alone can fire it (files, internal errors).
	Example string
}

// tables lists the families' rows; each stands in a file of its own.
var tables = []*[]Row{
	&syntaxRows, &nameRows, &typeRows, &shapeRows, &distRows, &distPassRows, &verifyRows, &runtimeRows, &gpuRows, &internalRows, &passRows,
}

// Rows returns all rows by code.
func Rows() []Row {
	var out []Row
	for _, t := range tables {
		out = append(out, *t...)
	}
	slices.SortFunc(out, func(a, b Row) int { return int(a.Code) - int(b.Code) })
	return out
}

// Lookup finds a row by its printed name; case and the leading E may be left out.
func Lookup(name string) (Row, bool) {
	n, err := strconv.Atoi(strings.TrimLeft(strings.TrimSpace(name), "eE"))
	if err != nil {
		return Row{}, false
	}
	for _, r := range Rows() {
		if int(r.Code) == n {
			return r, true
		}
	}
	return Row{}, false
}
