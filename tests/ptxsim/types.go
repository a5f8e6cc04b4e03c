package ptxsim

import "strings"

// dtype is a PTX type.
type dtype struct {
	kind  kind
	bits  int // of one lane
	lanes int // 2: f16x2, bf16x2
}

type kind uint8

const (
	kNone kind = iota
	kUint
	kInt
	kBits
	kFloat // f16, f32, f64
	kBF16
	kTF32
	kPred
)

var typeNames = map[string]dtype{
	"u8": {kUint, 8, 1}, "u16": {kUint, 16, 1}, "u32": {kUint, 32, 1}, "u64": {kUint, 64, 1},
	"s8": {kInt, 8, 1}, "s16": {kInt, 16, 1}, "s32": {kInt, 32, 1}, "s64": {kInt, 64, 1},
	"b8": {kBits, 8, 1}, "b16": {kBits, 16, 1}, "b32": {kBits, 32, 1}, "b64": {kBits, 64, 1}, "b128": {kBits, 128, 1},
	"f16": {kFloat, 16, 1}, "f32": {kFloat, 32, 1}, "f64": {kFloat, 64, 1}, "f16x2": {kFloat, 16, 2},
	"bf16": {kBF16, 16, 1}, "bf16x2": {kBF16, 16, 2}, "tf32": {kTF32, 32, 1}, "pred": {kPred, 1, 1},
}

func (t dtype) float() bool { return t.kind == kFloat || t.kind == kBF16 }
func (t dtype) bytes() int  { return t.bits * t.lanes / 8 }

// zext and sext take the low bits of a register.
func zext(x uint64, bits int) uint64 { return x << (64 - bits) >> (64 - bits) }
func sext(x uint64, bits int) int64  { return int64(x<<(64-bits)) >> (64 - bits) }

// read is a register's content as the integer type t, extended to 64 bits.
func (t dtype) read(x uint64) uint64 {
	if t.kind == kInt {
		return uint64(sext(x, t.bits))
	}
	return zext(x, t.bits)
}

// mods are the parts of an opcode behind its name: every one must be taken by the instruction's
// compiler, so that nothing is ignored silently.
type mods struct {
	name string
	rest []string
}

func newMods(opcode string) *mods {
	parts := strings.Split(opcode, ".")
	return &mods{parts[0], parts[1:]}
}

// take removes the first of the given parts that is there and returns it.
func (m *mods) take(names ...string) string {
	for i, r := range m.rest {
		for _, n := range names {
			if r == n {
				m.rest = append(m.rest[:i:i], m.rest[i+1:]...)
				return r
			}
		}
	}
	return ""
}

func (m *mods) has(name string) bool { return m.take(name) != "" }

// dtypes removes all types, in order.
func (m *mods) dtypes() []dtype {
	var out []dtype
	var rest []string
	for _, r := range m.rest {
		if t, ok := typeNames[r]; ok {
			out = append(out, t)
		} else {
			rest = append(rest, r)
		}
	}
	m.rest = rest
	return out
}

// dropPrefixed removes parts such as L2::128B.
func (m *mods) dropPrefixed(prefixes ...string) {
	var rest []string
next:
	for _, r := range m.rest {
		for _, p := range prefixes {
			if strings.HasPrefix(r, p) {
				continue next
			}
		}
		rest = append(rest, r)
	}
	m.rest = rest
}
