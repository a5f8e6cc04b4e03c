package syntax

import (
	"strings"
	"unicode/utf8"
)

// A doc is text that can be laid out on one line or on several. Only brackets break lines, and operators
// inside brackets.
type doc struct {
	kind  docKind
	text  string // docText: the text; docGroup: the opening bracket
	close string
	comma commaRule
	parts []part
	below []string // docGroup: comments before the closing bracket

	preferred bool // docGroup: break this one before its neighbours
}

// A part of a doc has comments above it and one after it on its line; with either it stands on a line of
// its own.
type part struct {
	doc
	op    string // docChain: the operator before the part
	above []string
	after *Comment
}

type docKind uint8

const (
	docText  docKind = iota
	docSeq           // parts one after the other
	docGroup         // a bracket: parts with commas between
	docChain         // parts with operators (or nothing) between
)

// A commaRule says when a comma follows the last item of a bracket.
type commaRule uint8

const (
	noComma  commaRule = iota
	oneComma           // where each item has a line of its own
	always             // a tuple of one
)

func text(s string) doc { return doc{text: s} }

// seq takes its arguments over: the first one grows, so that a long chain of them costs little.
func seq(docs ...doc) doc {
	d := doc{kind: docSeq}
	if len(docs) > 0 && docs[0].kind == docSeq {
		d.parts, docs = docs[0].parts, docs[1:]
	}
	for _, x := range docs {
		if x.kind == docSeq {
			d.parts = append(d.parts, x.parts...)
		} else {
			d.parts = append(d.parts, part{doc: x})
		}
	}
	return d
}

// forced says whether a comment inside prevents one line.
func (d *doc) forced() bool {
	if len(d.below) > 0 {
		return true
	}
	for i := range d.parts {
		q := &d.parts[i]
		if len(q.above) > 0 || q.after != nil || q.forced() {
			return true
		}
	}
	return false
}

// flat prints a doc on one line, its comments left out.
func flat(d doc) string {
	var b strings.Builder
	writeFlat(&b, &d)
	return b.String()
}

func writeFlat(b *strings.Builder, d *doc) {
	b.WriteString(d.text)
	for i := range d.parts {
		q := &d.parts[i]
		switch {
		case i == 0 || d.kind == docSeq:
		case d.kind == docGroup:
			b.WriteString(", ")
		case q.op == "":
			b.WriteByte(' ')
		default:
			b.WriteString(" " + q.op + " ")
		}
		writeFlat(b, &q.doc)
	}
	if d.comma == always {
		b.WriteByte(',')
	}
	b.WriteString(d.close)
}

// column returns how far the last line reaches.
func (p *printer) column() int {
	s := p.out.String()
	return columnAt(s, len(s))
}

// An extent says how wide the first and the last line of a text are. Of a string over several lines only
// these two count.
type extent struct {
	first, last int
	broken      bool // there is more than one line
}

func measure(s string) extent {
	first, rest, broken := strings.Cut(s, "\n")
	last := rest[strings.LastIndexByte(rest, '\n')+1:]
	return extent{utf8.RuneCountInString(first), utf8.RuneCountInString(last), broken}
}

// then returns the extent of one text followed by another.
func (e extent) then(next extent) extent {
	switch {
	case !e.broken:
		next.first += e.first
		return next
	case !next.broken:
		e.last += next.first
		return e
	}
	return extent{e.first, next.last, true}
}

// fits says whether a text that starts at a column ends in time.
func (e extent) fits(column int) bool {
	return column+e.first <= lineWidth && (!e.broken || e.last <= lineWidth)
}

func fits(column int, s string) bool { return measure(s).fits(column) }

// put prints a doc where the line stands, on several lines if it must. Operators may begin a line only
// inside brackets.
func (p *printer) put(d doc, inside bool) { p.putBefore(d, inside, 0) }

// putBefore leaves room at the end of the line for what follows.
func (p *printer) putBefore(d doc, inside bool, room int) {
	if s := flat(d); !d.forced() && fits(p.column()+room, s) {
		p.out.WriteString(s)
		return
	}
	switch d.kind {
	case docText:
		p.out.WriteString(d.text)
	case docGroup:
		p.breakGroup(&d)
	case docChain:
		if inside {
			p.breakChain(&d, room)
		} else {
			p.breakSeq(chainAsSeq(&d), inside, room)
		}
	case docSeq:
		p.breakSeq(d, inside, room)
	}
}

// chainAsSeq prints operators where no line may break before them.
func chainAsSeq(d *doc) doc {
	var docs []doc
	for i, q := range d.parts {
		if i > 0 {
			docs = append(docs, text(strings.TrimRight(" "+q.op, " ")+" "))
		}
		docs = append(docs, q.doc)
	}
	return seq(docs...)
}

// breakSeq breaks one bracket of a sequence: the last one that makes everything else fit, or else the
// longest. Brackets with comments break in any case.
func (p *printer) breakSeq(d doc, inside bool, room int) {
	chosen := p.choose(&d, room)
	for i := range d.parts {
		q := &d.parts[i]
		if i == chosen || q.forced() {
			p.breakPart(q, inside, room)
		} else {
			p.out.WriteString(flat(q.doc))
		}
	}
}

func (p *printer) breakPart(q *part, inside bool, room int) {
	switch {
	case q.kind == docGroup:
		p.breakGroup(&q.doc)
	default:
		p.putBefore(q.doc, inside, room)
	}
}

// choose returns the index of the part to break, or -1 where comments have decided or nothing breaks.
func (p *printer) choose(d *doc, room int) int {
	longest, size := -1, 2
	before := make([]extent, len(d.parts)+1) // of the parts up to an index
	for i := range d.parts {
		q := &d.parts[i]
		if q.forced() {
			return -1
		}
		if q.kind == docGroup && q.preferred && len(q.parts) > 0 {
			return i
		}
		s := flat(q.doc)
		if (q.kind == docGroup && len(q.parts) > 0 || q.kind == docChain) && len(s) > size {
			longest, size = i, len(s)
		}
		before[i+1] = before[i].then(measure(s))
	}
	column, indent := p.column(), p.level*len(indentBy)+room
	var after extent
	for i := len(d.parts) - 1; i >= 0; i-- {
		q := &d.parts[i]
		if q.kind == docGroup && len(q.parts) > 0 &&
			before[i].then(measure(q.text)).fits(column) && measure(q.close).then(after).fits(indent) {
			return i
		}
		after = measure(flat(q.doc)).then(after)
	}
	return longest
}

// breakGroup prints a bracket over several lines: its items together on one, or else each on its own.
func (p *printer) breakGroup(d *doc) {
	p.out.WriteString(d.text)
	p.level++
	items := flat(doc{kind: docGroup, parts: d.parts})
	if d.comma == always {
		items += ","
	}
	if !d.forced() && len(d.parts) > 0 && fits(p.level*len(indentBy), items) {
		p.newLine()
		p.out.WriteString(items)
	} else {
		p.breakItems(d)
	}
	p.level--
	p.newLine()
	p.out.WriteString(d.close)
}

func (p *printer) breakItems(d *doc) {
	for i := range d.parts {
		q := &d.parts[i]
		p.commentLines(q.above)
		p.newLine()
		p.putBefore(q.doc, true, 1)
		if i+1 < len(d.parts) || d.comma != noComma {
			p.out.WriteByte(',')
		}
		if q.after != nil {
			p.tail(q.after)
		}
	}
	p.commentLines(d.below)
}

func (p *printer) breakChain(d *doc, room int) {
	for i := range d.parts {
		q := &d.parts[i]
		if i > 0 || len(q.above) > 0 {
			p.chainComments(q.above, i > 0)
			if i > 0 {
				p.newLine()
			}
			if q.op != "" {
				p.out.WriteString(q.op + " ")
			}
		}
		p.putBefore(q.doc, true, room)
		if q.after != nil {
			p.tail(q.after)
		}
	}
}

// chainComments prints comments above an operand; the first operand stands on its line already.
func (p *printer) chainComments(comments []string, own bool) {
	if own {
		p.commentLines(comments)
		return
	}
	for _, c := range comments {
		p.out.WriteString(c)
		p.newLine()
	}
}

func (p *printer) commentLines(comments []string) {
	for _, c := range comments {
		p.newLine()
		p.out.WriteString(c)
	}
}

func (p *printer) newLine() {
	p.out.WriteByte('\n')
	p.startLine()
}
