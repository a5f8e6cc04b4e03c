package target

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// LastLevelCache is how many bytes the largest cache of this machine's first CPU holds; 0: nobody says.
var LastLevelCache = sync.OnceValue(func() int64 { return largestCache("/sys/devices/system/cpu/cpu0/cache") })

// largestCache reads what Linux says of a CPU's caches: a folder each, with a file that says "32768K".
func largestCache(dir string) int64 {
	files, _ := filepath.Glob(filepath.Join(dir, "index*", "size"))
	var largest int64
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		digits, unit := strings.TrimSpace(string(text)), int64(1)
		for letter, bytes := range map[string]int64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30} {
			if s, ok := strings.CutSuffix(digits, letter); ok {
				digits, unit = s, bytes
			}
		}
		if n, err := strconv.ParseInt(digits, 10, 40); err == nil {
			largest = max(largest, n*unit)
		}
	}
	return largest
}
