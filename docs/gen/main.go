// Command gen writes the generated reference pages: docs/ops.md from the op table, docs/errors.md
// from the diagnostic codes and docs/parity.md from what executors do with each op. Run it from the root of the repository (make generate).
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"

	"ptoc/ir"
	"ptoc/lang/diag"
)

func main() {
	log.SetFlags(0)
	write("docs/ops.md", opsPage())
	write("docs/errors.md", diag.Page())
	write("docs/parity.md", parityPage())
}

func write(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
}

// opsPage is one entry per row of the op table: signature, where, effects, doc, other spellings.
func opsPage() string {
	var b bytes.Buffer
	b.WriteString("<!-- Generated from the op table by docs/gen. Do not edit: run make generate. -->\n\n# Ops\n\n")
	b.WriteString("Every op of the language, from the one table that the checker, the passes and the backends read.\n" +
		"A parameter in brackets may be left out; those after `*` are given by name only.\n" +
		"A *tile* parameter also takes a tensor, which is loaded whole.\n" +
		"`pl.x` may also be written `pl.tile.x` or `pl.tensor.x`.\n\n")
	for _, part := range []struct {
		title string
		in    func(*ir.Kind) bool
	}{
		{"Element by element, tiles and local memory", func(k *ir.Kind) bool { return strings.HasPrefix(k.Name, "pl.") && !k.Control && !k.Internal }},
		{"Windows, signals and collectives", func(k *ir.Kind) bool { return strings.HasPrefix(k.Name, "pld.") && !k.Control && !k.Internal }},
		{"Control flow", func(k *ir.Kind) bool { return k.Control && !k.Internal }},
		{"Made by passes only", func(k *ir.Kind) bool { return k.Internal }},
	} {
		fmt.Fprintf(&b, "## %s\n\n", part.title)
		for _, k := range ir.Kinds() {
			if part.in(k) {
				opEntry(&b, k)
			}
		}
	}
	return b.String()
}

func opEntry(b *bytes.Buffer, k *ir.Kind) {
	fmt.Fprintf(b, "### %s\n\n    %s(%s)\n\n%s\n\n", k.Name, k.Name, signature(k), k.Doc)
	fmt.Fprintf(b, "- where: %s\n", k.Where)
	if k.Infix != "" {
		fmt.Fprintf(b, "- operator: `%s`\n", k.Infix)
	}
	if k.Returns != "" {
		fmt.Fprintf(b, "- the expression's value is `%s`\n", k.Returns)
	}
	if len(k.Effects) > 0 {
		var parts []string
		for _, e := range k.Effects {
			parts = append(parts, effectText(e))
		}
		fmt.Fprintf(b, "- effects: %s\n", strings.Join(parts, "; "))
	}
	if names := otherSpellings(k); names != "" {
		fmt.Fprintf(b, "- also spelled: %s\n", names)
	}
	for _, p := range k.Params {
		if p.Also != "" {
			fmt.Fprintf(b, "- `%s=` may also be written `%s=`\n", p.Name, p.Also)
		}
	}
	b.WriteString("\n")
}

func signature(k *ir.Kind) string {
	var parts []string
	star := false
	for _, p := range k.Params {
		if p.KwOnly && !star {
			parts, star = append(parts, "*"), true
		}
		s := p.Name + ": " + paramText(p)
		if p.Optional {
			s = "[" + s + "]"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

func paramText(p ir.Param) string {
	words := map[ir.ParamKind]string{
		ir.PMem: "memory", ir.PTensor: "tensor", ir.PWindow: "window", ir.PTile: "tile", ir.PData: "tile or scalar",
		ir.PAny: "memory or tile", ir.PInt: "int", ir.PBool: "bool", ir.PScalar: "scalar", ir.PArray: "array",
		ir.PBuffer: "buffer", ir.PCtx: "CommCtx", ir.PInts: "ints", ir.PValues: "values", ir.AInt: "const int",
		ir.AFloat: "const float", ir.ABool: "const bool", ir.AStr: "const str", ir.ADType: "dtype", ir.AFunc: "function",
	}
	s := words[p.Kind]
	if p.Kind == ir.AEnum {
		s = p.Enum.Name
	}
	if p.DTypes != nil {
		var ds []string
		for _, d := range p.DTypes {
			ds = append(ds, d.String())
		}
		s += " of " + strings.Join(ds, "|")
	}
	switch d := p.Default.(type) {
	case nil:
	case string:
		s += fmt.Sprintf(" = %q", d)
	default:
		s += fmt.Sprintf(" = %v", d)
	}
	return s
}

func effectText(e ir.Effect) string {
	words := map[ir.EffectKind]string{ir.Reads: "reads", ir.Writes: "writes", ir.RemoteReads: "reads the peer's",
		ir.RemoteWrites: "writes the peer's", ir.Signals: "signals the peer through", ir.Waits: "waits on", ir.Fences: "orders this rank's accesses",
		ir.Allocates: "allocates memory", ir.Blocks: "may block until other ranks act", ir.Calls: "whatever the callee does"}
	return strings.TrimSpace(words[e.Kind] + " " + e.Mem)
}

// otherSpellings lists the short names; pl.tile.x and pl.tensor.x of a listed pl.x go without saying.
func otherSpellings(k *ir.Kind) string {
	var out []string
	seen := map[string]bool{k.Name: true}
	for _, s := range k.Spell {
		short := strings.NewReplacer("pl.tile.", "pl.", "pl.tensor.", "pl.").Replace(s.Name)
		if seen[short] {
			continue
		}
		seen[short] = true
		text := "`" + short + "`"
		if s.Want != "" {
			text += fmt.Sprintf(" (second operand %s)", map[string]string{"row": "[R, 1]", "col": "[1, C]"}[s.Want])
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
