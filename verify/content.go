package verify

import (
	"slices"
	"sort"

	"ptoc/ir"
	"ptoc/verify/term"
)

// What memory and tiles contain, on demand. An op on tiles makes one origin, whatever the size of its result;
// an element is computed when somebody asks for it: the comparison with the golden function, a branch, an
// offset. Memory is a list of chunks, each a piece of an origin, so that data which is only moved keeps
// its identity. A run costs what the program does in ops and rows, not in elements.

// origin is an array of elements that are computed when they are looked at.
type origin struct {
	fn    func(i int64) term.T
	known []term.T         // 1 + the element; 0: not computed yet
	few   map[int64]term.T // instead of known in arrays that are too large to be looked at as a whole
	n     int64
	undef bool // nobody has written these
}

// denseOrigin is the extent up to which an origin keeps its elements in an array.
const denseOrigin = 1 << 18

func (s *origin) at(i int64) term.T {
	if s.n > denseOrigin {
		if t, ok := s.few[i]; ok {
			return t
		}
		t := s.fn(i)
		if s.few == nil {
			s.few = map[int64]term.T{}
		}
		s.few[i] = t
		return t
	}
	if s.known == nil {
		s.known = make([]term.T, s.n)
	}
	if t := s.known[i]; t != 0 {
		return t - 1
	}
	t := s.fn(i)
	s.known[i] = t + 1
	return t
}

// elems is an array of elements put together from pieces of origins.
type elems []piece

type piece struct {
	end  int64 // of the piece, in the array
	src  *origin
	from int64 // its first element in src
}

func (e elems) len() int64 {
	if len(e) == 0 {
		return 0
	}
	return e[len(e)-1].end
}

func (e elems) at(i int64) term.T {
	k := 0
	if len(e) > 1 {
		k = sort.Search(len(e), func(k int) bool { return e[k].end > i })
	}
	if k > 0 {
		i -= e[k-1].end
	}
	return e[k].src.at(e[k].from + i)
}

// add appends n elements of an origin.
func (e elems) add(src *origin, from, n int64) elems {
	if n <= 0 {
		return e
	}
	end := e.len() + n
	if k := len(e); k > 0 && e[k-1].src == src {
		first := int64(0)
		if k > 1 {
			first = e[k-2].end
		}
		if e[k-1].from+e[k-1].end-first == from {
			e[k-1].end = end
			return e
		}
	}
	return append(e, piece{end, src, from})
}

// cut appends n elements of another array.
func (e elems) cut(of elems, from, n int64) elems {
	k := sort.Search(len(of), func(k int) bool { return of[k].end > from })
	for ; n > 0; k++ {
		first := int64(0)
		if k > 0 {
			first = of[k-1].end
		}
		some := min(n, of[k].end-from)
		e = e.add(of[k].src, of[k].from+from-first, some)
		from, n = from+some, n-some
	}
	return e
}

func (e elems) undefined() bool {
	return slices.ContainsFunc(e, func(p piece) bool { return p.src.undef })
}

// lazy are n elements that fn computes. Without values there are none.
func (r *run) lazy(n int64, fn func(i int64) term.T) elems {
	if !r.values || n == 0 {
		return nil
	}
	return elems{{n, &origin{fn: fn, n: n}, 0}}
}

// same are n times one element.
func (r *run) same(n int64, t term.T) elems {
	if !r.values || n == 0 {
		return nil
	}
	return elems{{n, &origin{fn: func(int64) term.T { return t }, n: denseOrigin + n}, 0}}
}

// chunk is the bytes [lo, hi) of a memory: elements of an origin, from one on.
type chunk struct {
	lo, hi int64
	dt     ir.DType
	src    *origin
	from   int64
}

func (g chunk) size() int64 { return int64(g.dt.Size()) }

// content is one device's copy of a memory: chunks in ascending order. What lies between them is zero.
type content []chunk

// find is the first chunk that ends after lo.
func (c content) find(lo int64) int {
	return sort.Search(len(c), func(k int) bool { return c[k].hi > lo })
}

// set replaces what [lo, hi) holds.
func (c content) set(lo, hi int64, with []chunk) content {
	i := c.find(lo)
	j := i
	for j < len(c) && c[j].lo < hi {
		j++
	}
	if i == j && i == len(c) {
		return append(c, with...)
	}
	var all []chunk
	if i < j && c[i].lo < lo {
		left := c[i]
		left.hi = lo
		all = append(all, left)
	}
	all = append(all, with...)
	if i < j && c[j-1].hi > hi {
		right := c[j-1]
		right.from += (hi - right.lo) / right.size()
		right.lo = hi
		all = append(all, right)
	}
	return slices.Replace(c, i, j, all...)
}

// on is the device's copy of a memory.
func (m *memory) on(device int) *content {
	if m.kind != windowMemory {
		device = -1
	}
	if m.data[device] == nil {
		m.data[device] = &content{}
	}
	return m.data[device]
}

// fill puts elements into consecutive bytes.
func (r *run) fill(m *memory, device int, lo int64, dt ir.DType, data elems) {
	size := int64(dt.Size())
	var with []chunk
	at := lo
	first := int64(0)
	for _, p := range data {
		n := (p.end - first) * size
		with = append(with, chunk{at, at + n, dt, p.src, p.from})
		at, first = at+n, p.end
	}
	c := m.on(device)
	r.step(1 + len(with) + len(*c)/256)
	*c = c.set(lo, at, with)
}

// fetch appends the elements of the bytes [lo, hi) to out.
func (r *run) fetch(out elems, m *memory, device int, s span, dt ir.DType) elems {
	c := *m.on(device)
	size := int64(dt.Size())
	at := s.lo
	for k := c.find(at); at < s.hi; k++ {
		r.step(1)
		end := s.hi
		if k < len(c) {
			end = min(end, c[k].lo)
		}
		if at < end { // a gap
			n := (end - at + size - 1) / size
			out = out.add(r.zeros, at/size, n)
			at += n * size
		}
		if k >= len(c) || c[k].lo >= s.hi || at >= c[k].hi {
			continue
		}
		n := (min(s.hi, c[k].hi) - at + size - 1) / size
		if c[k].dt == dt && (at-c[k].lo)%size == 0 {
			out = out.add(c[k].src, c[k].from+(at-c[k].lo)/size, n)
		} else {
			out = append(out, r.otherBytes(c[k], at, n, size, out.len()))
		}
		at += n * size
	}
	return out
}

// otherBytes are elements that are read in another type than they were written in: all that is known of
// them is what they are made of.
func (r *run) otherBytes(g chunk, at, n, size, before int64) piece {
	src := &origin{n: n, undef: g.src.undef}
	src.fn = func(i int64) term.T {
		off := at + i*size - g.lo
		t := g.src.at(g.from + min(off, g.hi-g.lo-1)/g.size())
		if k, ok := r.space.IsConst(t); ok && k == 0 {
			return 0
		}
		return r.space.Apply("bytes", t, r.space.Const(float64(off%g.size())))
	}
	return piece{before + n, src, 0}
}

// get and put are the elements of a rectangle, without a trace.
func (r *run) take(x rect) elems {
	device := x.v.device
	if x.v.mem.kind != windowMemory {
		device = -1
	}
	return r.takeFrom(x, device)
}

func (r *run) takeFrom(x rect, device int) elems {
	var out elems
	if product(x.dims) == 0 {
		return out
	}
	for _, s := range x.spans() {
		out = r.fetch(out, x.v.mem, device, s, x.v.dt)
	}
	return out
}

func (r *run) put(x rect, data elems) { r.putInto(x, x.v.device, data) }

func (r *run) putInto(x rect, device int, data elems) {
	if product(x.dims) == 0 {
		return
	}
	at, size := int64(0), int64(x.v.dt.Size())
	for _, s := range x.spans() {
		n := (s.hi - s.lo) / size
		part := data
		if n != data.len() {
			part = elems(nil).cut(data, at, n)
		}
		r.fill(x.v.mem, device, s.lo, x.v.dt, part)
		at += n
	}
}
