package tensor

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"ptoc/ir"
)

const (
	printAll  = 1000 // elements up to which a tensor is printed whole
	printEdge = 3    // of a longer one: what is shown at each end of a dim
	printWide = 96   // columns
)

// Format writes t as NumPy does: brackets by dim, columns aligned, and "..."
// for the middle of what is too long.
func (t *Tensor) Format() string {
	if len(t.Data) == 0 {
		return "[]" // also of [1 << 40, 0]
	}
	p := printer{t: t, elide: t.Len() > printAll}
	p.measure(0, 0)
	p.print(0, 0)
	return p.out.String()
}

type printer struct {
	t     *Tensor
	elide bool
	width int // of the widest element that is shown
	out   strings.Builder
}

// shown calls f with each index of a dim that is printed, and with -1 for the gap.
func (p *printer) shown(dim int, f func(i int64)) {
	n := p.t.Shape[dim]
	for i := int64(0); i < n; i++ {
		if p.elide && n > 2*printEdge && i == printEdge {
			f(-1)
			i = n - printEdge
		}
		f(i)
	}
}

func (p *printer) measure(dim int, at int64) {
	if dim == len(p.t.Shape) {
		p.width = max(p.width, utf8.RuneCountInString(p.t.formatElem(at)))
		return
	}
	p.shown(dim, func(i int64) {
		if i >= 0 {
			p.measure(dim+1, at*p.t.Shape[dim]+i)
		}
	})
}

func (p *printer) print(dim int, at int64) {
	switch len(p.t.Shape) - dim {
	case 0:
		p.out.WriteString(p.t.formatElem(at))
	case 1:
		p.row(dim, at)
	default:
		p.out.WriteByte('[')
		indent := strings.Repeat(" ", dim+1)
		first := true
		p.shown(dim, func(i int64) {
			if !first {
				// A blank line between matrices, none between rows.
				p.out.WriteString(strings.Repeat("\n", len(p.t.Shape)-dim-1) + indent)
			}
			first = false
			if i < 0 {
				p.out.WriteString("...")
				return
			}
			p.print(dim+1, at*p.t.Shape[dim]+i)
		})
		p.out.WriteByte(']')
	}
}

func (p *printer) row(dim int, at int64) {
	p.out.WriteByte('[')
	col := dim + 1
	first := true
	p.shown(dim, func(i int64) {
		text, width := "...", 3
		if i >= 0 {
			text, width = p.t.formatElem(at*p.t.Shape[dim]+i), p.width
			text = strings.Repeat(" ", width-utf8.RuneCountInString(text)) + text
		}
		switch {
		case first:
		case col+1+width > printWide:
			p.out.WriteString("\n" + strings.Repeat(" ", dim+1))
			col = dim + 1
		default:
			p.out.WriteByte(' ')
			col++
		}
		first = false
		p.out.WriteString(text)
		col += width
	})
	p.out.WriteByte(']')
}

// formatElem shows as many digits as the dtype holds for certain.
func (t *Tensor) formatElem(i int64) string {
	digits := 6
	switch t.DType {
	case ir.FP32:
	case ir.FP16:
		digits = 4
	case ir.BF16:
		digits = 3
	case ir.BOOL:
		return strconv.FormatBool(t.Int(i) != 0)
	default:
		return strconv.FormatInt(t.Int(i), 10)
	}
	return strconv.FormatFloat(t.Float(i), 'g', digits, 64)
}
