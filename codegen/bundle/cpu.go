package bundle

import (
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

func arch() string { return runtime.GOARCH }

// instructionSets are the flags of /proc/cpuinfo that name instructions which a compiler may use. Others
// say how the machine is set up.
var instructionSets = regexp.MustCompile(`^(sse.*|ssse3|pni|avx.*|fma.*|f16c|bmi\d|abm|popcnt|movbe|adx|aes|vaes|v?pclmulqdq|sha_ni|gfni|` +
	`amx.*|rdrand|rdseed|fsgsbase|clflushopt|clwb|movdir.*|xop|tbm|lwp|asimd.*|fp|sve.*|i8mm|bf16|atomics)$`)

var cpuFlags = sync.OnceValue(func() []string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	for _, line := range strings.Split(string(text), "\n") {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); ok && (name == "flags" || name == "Features") {
			return strings.Fields(value)
		}
	}
	return nil
})

// cpuFeatures are the instruction sets of this machine, which -march=native uses.
func cpuFeatures() []string {
	out := []string{}
	for _, f := range cpuFlags() {
		if instructionSets.MatchString(f) {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return out
}

// missingFeatures are those that this machine lacks.
func missingFeatures(want []string) []string {
	var out []string
	for _, f := range want {
		if !slices.Contains(cpuFlags(), f) {
			out = append(out, f)
		}
	}
	return out
}
