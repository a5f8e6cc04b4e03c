package passes

import (
	"sort"

	"ptoc/ir"
)

// placed is a buffer with an offset known now.
type placed struct {
	at, size int64
	when     span
}

// place gives buffers their offsets.
func (p *planner) place() {
	var static, symbolic []*buffer
	for _, b := range p.order {
		if b.into != nil {
			continue
		}
		if _, ok := b.bytes.Const(); ok {
			static = append(static, b)
		} else {
			symbolic = append(symbolic, b)
		}
	}
	at := map[*buffer]ir.Dim{}
	total := ir.ConstDim(p.placeStatic(static, at))
	total = p.placeSymbolic(symbolic, at, total)
	for v, b := range p.buf {
		off := at[b.find()]
		v.Arena = &off
	}
	p.f.Arena = &total
}

// placeStatic packs buffers of known size, large ones first, each at the lowest offset that is free for
// all of its time.
func (p *planner) placeStatic(bufs []*buffer, at map[*buffer]ir.Dim) int64 {
	size := func(b *buffer) int64 {
		n, _ := b.bytes.Const()
		return (n + arenaAlign - 1) / arenaAlign * arenaAlign
	}
	sort.SliceStable(bufs, func(i, j int) bool { return size(bufs[i]) > size(bufs[j]) })
	var done []placed
	var total int64
	for _, b := range bufs {
		x := placed{size: size(b), when: b.hull()}
		x.at = lowest(done, x)
		done = append(done, x)
		total = max(total, x.at+x.size)
		at[b] = ir.ConstDim(x.at)
	}
	return total
}

// lowest is the first offset at which x meets nothing that is there at the same time.
func lowest(done []placed, x placed) int64 {
	var busy []placed
	for _, d := range done {
		if d.when.overlaps(x.when) {
			busy = append(busy, d)
		}
	}
	sort.Slice(busy, func(i, j int) bool { return busy[i].at < busy[j].at })
	at := int64(0)
	for _, d := range busy {
		if at+x.size <= d.at {
			break
		}
		at = max(at, d.at+d.size)
	}
	return at
}

// placeSymbolic puts each size one after the other; buffers of equal size share a place in turn.
func (p *planner) placeSymbolic(bufs []*buffer, at map[*buffer]ir.Dim, total ir.Dim) ir.Dim {
	type slot struct {
		off  ir.Dim
		size ir.Dim
		used []span
	}
	var slots []*slot
	for _, b := range bufs {
		h := b.hull()
		var s *slot
		for _, t := range slots {
			if t.size.Equal(b.bytes) && !anyOverlap(t.used, h) {
				s = t
				break
			}
		}
		if s == nil {
			s = &slot{off: total, size: b.bytes}
			slots = append(slots, s)
			n := ir.ConstDim(arenaAlign)
			total = total.Add(b.bytes.Add(ir.ConstDim(arenaAlign - 1)).Div(n).Mul(n))
		}
		s.used = append(s.used, h)
		at[b] = s.off
	}
	return total
}

func anyOverlap(list []span, s span) bool {
	for _, t := range list {
		if t.overlaps(s) {
			return true
		}
	}
	return false
}
