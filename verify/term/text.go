package term

import (
	"fmt"
	"strings"
)

// Text writes a term for a message, cut short where it is long.
func (s *Space) Text(t T) string {
	var b strings.Builder
	s.text(&b, t, 3)
	return b.String()
}

func (s *Space) text(b *strings.Builder, t T, depth int) {
	n := &s.nodes[t]
	switch {
	case n.op == opConst:
		fmt.Fprintf(b, "%g", n.k)
	case n.undef:
		b.WriteString("undefined")
	case n.op == opLeaf:
		if f := s.texts[s.leafs.text[n.leaf]]; f != nil {
			b.WriteString(f(int64(n.k)))
			return
		}
		fmt.Fprintf(b, "%s[%d]", s.leafs.text[n.leaf], int64(n.k))
	case depth == 0:
		b.WriteString("...")
	case n.op == opSum:
		for i, a := range n.args {
			if i == 8 {
				fmt.Fprintf(b, " + ... (%d terms)", len(n.args))
				break
			}
			if i > 0 {
				b.WriteString(" + ")
			}
			if c := n.coefs[i]; c != 1 {
				fmt.Fprintf(b, "%g*", c)
			}
			s.text(b, a, depth-1)
		}
		if n.k != 0 {
			fmt.Fprintf(b, " + %g", n.k)
		}
	default:
		b.WriteString(s.ops.text[n.op] + "(")
		for i, a := range n.args {
			if i == 8 {
				b.WriteString(", ...")
				break
			}
			if i > 0 {
				b.WriteString(", ")
			}
			s.text(b, a, depth-1)
		}
		b.WriteString(")")
	}
}
