// Package ptxas assembles PTX in tests, where NVIDIA's assembler is there: tools/fetch-ptxas.sh fetches it.
package ptxas

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// ErrMissing says that there is no ptxas on this machine.
var ErrMissing = errors.New("no ptxas: run tools/fetch-ptxas.sh")

// Find is the path of ptxas: $PTOC_PTXAS, the cache folder, or PATH.
func Find() (string, error) {
	if p := os.Getenv("PTOC_PTXAS"); p != "" {
		return p, nil
	}
	if dir, err := os.UserCacheDir(); err == nil {
		p := filepath.Join(dir, "ptoc", "ptxas", "ptxas")
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	if p, err := exec.LookPath("ptxas"); err == nil {
		return p, nil
	}
	return "", ErrMissing
}

// Version is that of the ptxas that Find finds, "12.9"; "" where there is none.
func Version() string {
	bin, err := Find()
	if err != nil {
		return ""
	}
	out, _ := exec.Command(bin, "--version").Output()
	m := regexp.MustCompile(`release ([\d.]+)`).FindSubmatch(out)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// Usage is what one kernel takes.
type Usage struct {
	Kernel                            string
	Registers, Shared, Stack          int
	SpillStores, SpillLoads, Barriers int
}

// Assemble checks PTX and says what each kernel takes.
func Assemble(text, arch string) ([]Usage, error) {
	bin, err := Find()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, "-arch="+arch, "-v", "-o", os.DevNull, "-")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, errors.New(string(out))
	}
	return parse(string(out)), nil
}

var (
	compiling = regexp.MustCompile(`Compiling entry function '(\w+)'`)
	stack     = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	used      = regexp.MustCompile(`Used (\d+) registers`)
	shared    = regexp.MustCompile(`(\d+) bytes smem`)
	barriers  = regexp.MustCompile(`used (\d+) barriers`)
)

// parse reads what -v prints: a block of lines for each kernel.
func parse(text string) []Usage {
	var out []Usage
	num := func(re *regexp.Regexp, line string, i int) int {
		m := re.FindStringSubmatch(line)
		if m == nil {
			return 0
		}
		n, _ := strconv.Atoi(m[i])
		return n
	}
	open := false // a kernel's own lines; those of its functions follow
	for line := range strings.Lines(text) {
		if m := compiling.FindStringSubmatch(line); m != nil {
			out = append(out, Usage{Kernel: m[1]})
			open = true
			continue
		}
		if !open {
			continue
		}
		u := &out[len(out)-1]
		if stack.MatchString(line) {
			u.Stack, u.SpillStores, u.SpillLoads = num(stack, line, 1), num(stack, line, 2), num(stack, line, 3)
		}
		if used.MatchString(line) {
			u.Registers, u.Shared, u.Barriers = num(used, line, 1), num(shared, line, 1), num(barriers, line, 1)
			open = false
		}
	}
	return out
}
