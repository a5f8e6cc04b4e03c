package peers

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// cpuTicks is the user and system time of the processes that run exe.
func cpuTicks(t *testing.T, exe string) (sum int) {
	t.Helper()
	for _, d := range processes(t, exe) {
		b, err := os.ReadFile(d + "/stat")
		if err != nil {
			continue
		}
		// utime and stime are the 14th and 15th fields; the second, the name, is in brackets.
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		for _, s := range f[11:13] {
			n, err := strconv.Atoi(s)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}
