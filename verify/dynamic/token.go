package dynamic

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"ptoc/verify"
)

// A replay token says which run showed a fault: policy, seed, extents, repeats, and for runs of the
// explorer the choices where more than one step was possible. With the same program and number of ranks
// it gives the same run.
type token struct {
	policy  Policy
	explore bool
	seed    uint64
	repeats int
	syms    map[string]int64
	choices []byte
	wild    []cellID // explorer: cells whose notifies take their time
}

const tokenVersion = 1

func (k token) String() string {
	b := []byte{tokenVersion, byte(k.policy)}
	if k.explore {
		b[1] |= 0x80
	}
	b = binary.AppendUvarint(b, k.seed)
	b = binary.AppendUvarint(b, uint64(k.repeats))
	b = binary.AppendUvarint(b, uint64(len(k.syms)))
	for _, n := range slices.Sorted(maps.Keys(k.syms)) {
		b = binary.AppendUvarint(b, uint64(len(n)))
		b = append(b, n...)
		b = binary.AppendVarint(b, k.syms[n])
	}
	b = binary.AppendUvarint(b, uint64(len(k.wild)))
	for _, c := range k.wild {
		b = binary.AppendUvarint(b, uint64(c.device))
		b = binary.AppendUvarint(b, uint64(c.alloc))
		b = binary.AppendUvarint(b, uint64(c.off))
	}
	b = append(b, packed(k.choices)...)
	return hex.EncodeToString(append(b, byte(crc32.ChecksumIEEE(b))))
}

// packed writes runs of equal choices: a choice and how often.
func packed(cs []byte) []byte {
	var out []byte
	for i := 0; i < len(cs); {
		j := i
		for j < len(cs) && cs[j] == cs[i] {
			j++
		}
		out = append(out, cs[i])
		out = binary.AppendUvarint(out, uint64(j-i))
		i = j
	}
	return out
}

var errToken = fmt.Errorf("this is no replay token: it must be copied whole from a report of ptoc verify")

func parseToken(text string) (token, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) < 4 || b[0] != tokenVersion || byte(crc32.ChecksumIEEE(b[:len(b)-1])) != b[len(b)-1] {
		return token{}, errToken
	}
	k := token{policy: Policy(b[1] & 0x7f), explore: b[1]&0x80 != 0, syms: map[string]int64{}}
	r := &reader{b: b[2 : len(b)-1]}
	k.seed = r.uvarint()
	k.repeats = int(r.uvarint())
	for range min(r.uvarint(), 1000) {
		name := string(r.bytes(int(min(r.uvarint(), 1000))))
		v, n := binary.Varint(r.b)
		r.skip(n)
		k.syms[name] = v
	}
	for range min(r.uvarint(), 1<<16) {
		k.wild = append(k.wild, cellID{int(r.uvarint()), int(r.uvarint()), int64(r.uvarint())})
	}
	for len(r.b) > 0 && !r.bad {
		c := r.bytes(1)
		for range min(r.uvarint(), 1<<20) {
			k.choices = append(k.choices, c...)
		}
	}
	if r.bad || int(k.policy) >= len(policyNames) || k.repeats < 1 || k.repeats > 1000 {
		return token{}, errToken
	}
	return k, nil
}

type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	return v
}

func (r *reader) skip(n int) {
	if n <= 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return
	}
	r.b = r.b[n:]
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (k token) scope(ranks int) verify.Scope {
	return verify.Scope{Ranks: ranks, Syms: k.syms, Repeats: k.repeats}
}
