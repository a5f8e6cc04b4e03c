package main

import (
	"bytes"
	"fmt"
	"strings"

	"ptoc/codegen/cpp"
	"ptoc/codegen/ptx"
	"ptoc/ir"
	"ptoc/runtime/conform"
	"ptoc/runtime/sim"
)

// parityPage says which executors take which op on which element type.
func parityPage() string {
	var b bytes.Buffer
	b.WriteString("<!-- Generated from the op table and what executors register by docs/gen. Do not edit: run make generate. -->\n\n# Parity\n\n")
	b.WriteString("What runs kernels, and on which element types: the simulator, the C++ backend and the PTX backend. For each\n" +
		"op and type the smallest kernel with it is made and given to all three. ✓: all take it; –: the language has\n" +
		"no such op on this type. `tests/conform` fails for a hole, and compares what they compute.\n\n")
	b.WriteString("| op |")
	for _, dt := range conform.DTypes {
		fmt.Fprintf(&b, " %s |", dt)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(conform.DTypes)) + "\n")
	for _, form := range conform.Forms() {
		if !form.Typed() {
			continue
		}
		fmt.Fprintf(&b, "| `%s` |", form)
		for _, dt := range conform.DTypes {
			fmt.Fprintf(&b, " %s |", cellText(form.Try(dt)))
		}
		b.WriteString("\n")
	}
	b.WriteString("\nThe product of `pl.matmul` and `pl.matmul_acc` has the type that it accumulates in, or `out_dtype`; `pl.cast` converts from\n" +
		"each type to each.\n\n## Ops without an element type\n\n")
	for _, form := range conform.Forms() {
		if !form.Typed() {
			k := form.Kind
			fmt.Fprintf(&b, "- `%s`: %s\n", form, names(sim.Handles(k), cpp.Handles(k), ptx.Handles(k)))
		}
	}
	b.WriteString("\n## Ops that kernels do not contain\n\n")
	for _, k := range ir.Kinds() {
		if why := conform.Elsewhere(k); why != "" {
			fmt.Fprintf(&b, "- `%s`: %s\n", k.Name, why)
		}
	}
	return b.String()
}

func cellText(c conform.Cell) string {
	switch {
	case !c.Legal:
		return "–"
	case c.Whole():
		return "✓"
	}
	return names(c.Sim == nil, c.CPP == nil, c.PTX == nil)
}

func names(sim, cpp, ptx bool) string {
	var out []string
	for i, ok := range []bool{sim, cpp, ptx} {
		if ok {
			out = append(out, []string{"simulator", "C++", "PTX"}[i])
		}
	}
	return strings.Join(out, ", ")
}
