package ptx

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	bitField  = regexp.MustCompile(`(?m)^([ \t]*)bfe\.u64([ \t]+)(%\w+), (%\w+), (\d+), (\d+);`)
	signShift = regexp.MustCompile(`(?m)^([ \t]*)mul\.wide\.s32([ \t]+)(%\w+), (%\w+), -2147483648;`)
)

// repair mends what old versions of LLVM print that computes something else than the IR.
func repair(ptx string, version int) string {
	// LLVM 14 to 16: (x >> n) & mask, where the shift is arithmetic and the mask reaches beyond x's highest bit, as it
	// does in x % 3 of an x that may be negative. They take a field of bits that ends behind x, and such a field is
	// filled up with zeros, not with the sign. After a shift without sign no mask reaches so far.
	if strings.Contains(ptx, "bfe.u64") {
		ptx = bitField.ReplaceAllStringFunc(ptx, func(line string) string {
			m := bitField.FindStringSubmatch(line)
			from, _ := strconv.Atoi(m[5])
			n, _ := strconv.Atoi(m[6])
			if from+n <= 64 {
				return line
			}
			mask := int64(uint64(1)<<n - 1)
			return fmt.Sprintf("%[1]sshr.s64%[2]s%[3]s, %[4]s, %[5]d;\n%[1]sand.b64%[2]s%[3]s, %[3]s, %[6]d;", m[1], m[2], m[3], m[4], from, mask)
		})
	}
	// LLVM 14 and 15: a product with 2 to the power of 31, of 32 bits that become 64. They multiply by the 32 bits of
	// that number, which are a negative one. (By a number that is negative they do not multiply: they shift, and negate.)
	if version < 16 {
		ptx = signShift.ReplaceAllString(ptx, "${1}cvt.s64.s32${2}${3}, ${4};\n${1}shl.b64${2}${3}, ${3}, 31;")
	}
	return ptx
}
