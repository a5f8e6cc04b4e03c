package abi

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
)

//go:embed helpers.inc
var helpers string

// structs are printed in this order: each may name those before it.
var structs = []struct {
	name string
	typ  reflect.Type
	doc  string
}{
	{"ptoc_fault", reflect.TypeFor[Fault](), "the first thing that went wrong on a rank"},
	{"ptoc_rankctl", reflect.TypeFor[RankCtl](), "what peers and the controller read of a rank"},
	{"ptoc_domain", reflect.TypeFor[Domain](), "the ranks that share windows, as the running rank sees them"},
	{"ptoc_ctx", reflect.TypeFor[Ctx](), "what a kernel is called with"},
}

// Prelude returns the C++ that every kernel and the engine begin with. It
// includes nothing.
func Prelude() string { return prelude }

// The text depends on nothing: made once.
var prelude = makePrelude()

func makePrelude() string {
	var b strings.Builder
	b.WriteString("// The kernel ABI of ptoc. Printed by codegen/abi.\n")
	b.WriteString("typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;\n")
	b.WriteString("typedef signed char i8; typedef short i16; typedef int i32; typedef long long i64;\n")
	b.WriteString("typedef float f32; typedef double f64;\n\n")
	writeEnums(&b)
	b.WriteString("struct ptoc_ctx;\n")
	for _, s := range structs {
		b.WriteString(Struct(s.name, s.doc, s.typ))
	}
	b.WriteString("\n")
	b.WriteString(helpers)
	return b.String()
}

func writeEnums(b *strings.Builder) {
	fmt.Fprintf(b, "enum : i32 { PTOC_MAX_RANKS = %d, PTOC_CACHE_LINE = %d };\n", MaxRanks, CacheLine)
	b.WriteString("enum : i32 {\n")
	for _, c := range Codes {
		doc := c.Doc
		if len(c.Operands) > 0 {
			doc += ": " + strings.Join(c.Operands, ", ")
		}
		fmt.Fprintf(b, "    PTOC_%s = %d, // %s\n", c.Name, c.Code, doc)
	}
	b.WriteString("};\n")
	for _, e := range enums {
		b.WriteString("enum : i32 {")
		for i, n := range e.names {
			if i > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(b, " %s%s = %d", e.prefix, n, i)
		}
		b.WriteString(" };\n")
	}
	b.WriteString("\n")
}

// Struct prints the C++ of the Go struct t. The engine's own shared structs
// are printed with it too.
func Struct(name, doc string, t reflect.Type) string {
	var b strings.Builder
	fmt.Fprintf(&b, "struct %s { // %s\n", name, doc)
	for i := range t.NumField() {
		f := t.Field(i)
		fmt.Fprintf(&b, "    %s;\n", declare(cName(f, i), f))
	}
	fmt.Fprintf(&b, "};\nstatic_assert(sizeof(%s) == %d, \"%s differs from Go's\");\n", name, t.Size(), name)
	return b.String()
}

// declare returns the C++ declaration of field f under the given name.
func declare(name string, f reflect.StructField) string {
	if c := f.Tag.Get("c"); strings.Contains(c, "%s") {
		return fmt.Sprintf(c, name)
	} else if c != "" {
		return c + " " + name
	}
	t, dims := f.Type, ""
	if t.Kind() == reflect.Array {
		t, dims = t.Elem(), fmt.Sprintf("[%d]", t.Len())
	}
	return cType(t) + " " + name + dims
}

func cType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int32:
		return "i32"
	case reflect.Int64:
		return "i64"
	case reflect.Uint32:
		return "u32"
	case reflect.Uint64:
		return "u64"
	case reflect.Uint8:
		return "char" // names and paths
	}
	for _, s := range structs {
		if s.typ == t {
			return s.name
		}
	}
	panic("abi: no C++ type for " + t.String())
}

// cName turns ArenaBytes into arena_bytes, NRanks into nranks.
func cName(f reflect.StructField, i int) string {
	if f.Name == "_" {
		return fmt.Sprintf("pad%d", i)
	}
	var b strings.Builder
	for j, r := range f.Name {
		upper := r >= 'A' && r <= 'Z'
		if upper && j > 0 && f.Name[j-1] >= 'a' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// KernelSymbol and ArenaSymbol are the names under which a kernel's code and
// its arena size are exported.
func KernelSymbol(kernel string) string { return kernel }

// ArenaSymbol names the function `i64 (const i64* args)` that says how much
// arena the kernel needs. A kernel without one needs none.
func ArenaSymbol(kernel string) string { return kernel + ArenaSuffix }

// ArenaSuffix has a dot, which no kernel's name has.
const ArenaSuffix = ".arena"
