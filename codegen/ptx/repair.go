package ptx

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// bitField is an instruction that takes a field of bits out of 64.
var bitField = regexp.MustCompile(`(?m)^([ \t]*)bfe\.u64([ \t]+)(%\w+), (%\w+), (\d+), (\d+);`)

// repair mends what LLVM 14 to 16 print for (x >> n) & mask, where the shift is arithmetic and the mask reaches beyond
// x's highest bit, as it does in x % 3 of an x that may be negative: they take a field of bits that ends behind x, and
// such a field is filled up with zeros, not with the sign. After a shift without sign no mask reaches so far.
func repair(ptx string) string {
	if !strings.Contains(ptx, "bfe.u64") {
		return ptx
	}
	return bitField.ReplaceAllStringFunc(ptx, func(line string) string {
		m := bitField.FindStringSubmatch(line)
		from, _ := strconv.Atoi(m[5])
		n, _ := strconv.Atoi(m[6])
		if from+n <= 64 {
			return line
		}
		mask := uint64(1)<<n - 1
		return fmt.Sprintf("%sshr.s64%s%s, %s, %d;\n%sand.b64%s%s, %s, %d;", m[1], m[2], m[3], m[4], from, m[1], m[2], m[3], m[3], int64(mask))
	})
}
