package ir

import "strconv"

// namer gives every value of one function a name that is unique, valid and free of collisions with
// functions, symbols and words of the language. A hint that is all that already stays as it is, so
// printing what was parsed changes nothing.
type namer struct {
	vals  []*Value // by id
	names []string // by id
	taken map[string]bool
	next  map[string]int // by stem: the next suffix to try
}

// reservedNames are what no value may be called.
func reservedNames(m *Module) map[string]bool {
	out := map[string]bool{}
	for _, w := range []string{"pl", "pld", "_", "and", "or", "not", "if", "elif", "else", "for", "while", "in", "is", "def",
		"return", "class", "with", "as", "pass", "break", "continue", "import", "from", "lambda", "True", "False", "None",
		"del", "global", "nonlocal", "assert", "try", "except", "finally", "raise", "yield", "async", "await",
		"range", "len", "min", "max", "abs", "int", "float", "bool", "str", "print"} {
		out[w] = true
	}
	for _, f := range m.Funcs {
		out[f.Name] = true
	}
	for _, s := range m.Syms {
		out[s] = true
	}
	return out
}

func nameValues(f *Func, reserved map[string]bool) *namer {
	n := &namer{vals: make([]*Value, f.nextID+1), names: make([]string, f.nextID+1), next: map[string]int{}}
	n.taken = make(map[string]bool, len(reserved)+f.nextID)
	for w := range reserved {
		n.taken[w] = true
	}
	EachValue(f, n.add)
	return n
}

// EachValue calls fn for every parameter, block argument and result, in the order in which they
// become visible: an op's region arguments and body stand before its results.
func EachValue(f *Func, fn func(*Value)) { eachValue(f.Body, fn) }

func eachValue(b *Block, fn func(*Value)) {
	for _, v := range b.Args {
		fn(v)
	}
	for _, op := range b.Ops {
		for _, r := range op.Regions {
			eachValue(r, fn)
		}
		for _, v := range op.Results {
			fn(v)
		}
	}
}

func (n *namer) add(v *Value) {
	if v.ID <= 0 || v.ID >= len(n.vals) || n.vals[v.ID] != nil {
		return // broken IR: printed as undefined
	}
	n.vals[v.ID] = v
	n.names[v.ID] = n.unique(v)
}

func (n *namer) unique(v *Value) string {
	name := identifier(v.Name)
	if !n.taken[name] {
		n.taken[name] = true
		return name
	}
	stem := stemOf(name)
	for {
		n.next[stem]++
		s := stem + "_" + strconv.Itoa(n.next[stem])
		if !n.taken[s] {
			n.taken[s] = true
			return s
		}
	}
}

// stemOf cuts a suffix that an earlier round of naming added.
func stemOf(s string) string {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	if i > 1 && i < len(s) && s[i-1] == '_' {
		return s[:i-1]
	}
	return s
}

// identifier makes a hint valid.
func identifier(s string) string {
	ok := s != ""
	for i := 0; i < len(s); i++ {
		c := s[i]
		ok = ok && (c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9')
	}
	if ok {
		return s
	}
	b := []byte{}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			b = append(b, c)
		case c >= '0' && c <= '9':
			if len(b) == 0 {
				b = append(b, '_')
			}
			b = append(b, c)
		default:
			b = append(b, '_')
		}
	}
	if len(b) == 0 {
		return "v"
	}
	return string(b)
}

func (n *namer) of(v *Value) string {
	if v.ID > 0 && v.ID < len(n.vals) && n.vals[v.ID] == v {
		return n.names[v.ID]
	}
	return "undefined_" + strconv.Itoa(v.ID)
}
