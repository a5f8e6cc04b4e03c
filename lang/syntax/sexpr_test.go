package syntax

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"ptoc/lang/source"
)

func typeName(x any) string { return fmt.Sprintf("%T", x) }

// sexpr prints an expression with all of its brackets.
func sexpr(x Expr) string {
	switch x := x.(type) {
	case nil:
		return ""
	case *Name:
		return x.Text
	case *Int:
		return fmt.Sprint(x.Value)
	case *Float:
		return fmt.Sprint(x.Value)
	case *Str:
		return fmt.Sprintf("%q", x.Value)
	case *Attr:
		return "(" + sexpr(x.X) + "." + x.Sel.Text + ")"
	case *Call:
		var args []string
		for _, a := range x.Args {
			args = append(args, sexpr(a))
		}
		for _, k := range x.Keywords {
			args = append(args, k.Name.Text+"="+sexpr(k.Value))
		}
		return sexpr(x.Fn) + "(" + strings.Join(args, ", ") + ")"
	case *Index:
		return "(" + sexpr(x.X) + "[" + sexprs(x.Items) + "])"
	case *Slice:
		s := sexpr(x.Lo) + ":" + sexpr(x.Hi)
		if x.Step != nil {
			s += ":" + sexpr(x.Step)
		}
		return s
	case *Tuple:
		if len(x.Elts) == 1 {
			return "(" + sexpr(x.Elts[0]) + ",)"
		}
		return "(" + sexprs(x.Elts) + ")"
	case *List:
		return "[" + sexprs(x.Elts) + "]"
	case *Dict:
		var items []string
		for i := range x.Keys {
			items = append(items, sexpr(x.Keys[i])+": "+sexpr(x.Values[i]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	case *Unary:
		return "(" + x.Op.String() + " " + sexpr(x.X) + ")"
	case *Binary:
		return "(" + sexpr(x.X) + " " + x.Op.String() + " " + sexpr(x.Y) + ")"
	case *Compare:
		s := "(" + sexpr(x.X)
		for i, op := range x.Ops {
			s += " " + op.String() + " " + sexpr(x.Rest[i])
		}
		return s + ")"
	case *Cond:
		return "(" + sexpr(x.Then) + " if " + sexpr(x.If) + " else " + sexpr(x.Else) + ")"
	case *Paren:
		return sexpr(x.X)
	}
	return fmt.Sprintf("%T", x)
}

func sexprs(xs []Expr) string {
	var out []string
	for _, x := range xs {
		out = append(out, sexpr(x))
	}
	return strings.Join(out, ", ")
}

// dump prints a tree without its positions and comments, so that equal dumps mean equal trees.
func dump(f *File) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(f.Stmts))
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		dumpValue(b, v.Elem())
	case reflect.Slice:
		b.WriteByte('[')
		for i := range v.Len() {
			dumpValue(b, v.Index(i))
			b.WriteByte(' ')
		}
		b.WriteByte(']')
	case reflect.Struct:
		fmt.Fprintf(b, "(%s", v.Type().Name())
		for i := range v.NumField() {
			if v.Field(i).Type() == reflect.TypeFor[source.Span]() {
				continue
			}
			fmt.Fprintf(b, " %s=", v.Type().Field(i).Name)
			dumpValue(b, v.Field(i))
		}
		b.WriteByte(')')
	default:
		fmt.Fprintf(b, "%#v", v.Interface())
	}
}

func sortedComments(f *File) string {
	var out []string
	for _, c := range f.Comments {
		out = append(out, c.Text)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
