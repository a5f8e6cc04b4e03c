package ptx

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// llc is a program that compiles, with the opt that belongs to it; "" if that is not there.
type llc struct{ llc, opt string }

var llcVersion = regexp.MustCompile(`LLVM version (\d+)`)

func openLLC(path string) (*LLVM, error) {
	bin, err := exec.LookPath(path)
	if err != nil {
		return nil, err
	}
	about, err := pipe("", bin, "--version")
	if err != nil {
		return nil, err
	}
	m := llcVersion.FindStringSubmatch(about)
	if m == nil {
		return nil, fmt.Errorf("it does not say which version of LLVM it is of")
	}
	v, _ := strconv.Atoi(m[1])
	if !strings.Contains(about, "nvptx64") {
		return nil, fmt.Errorf("LLVM %d: it has no backend for nvptx64", v)
	}
	c := llc{llc: bin}
	if opt, err := exec.LookPath(filepath.Join(filepath.Dir(bin), strings.Replace(filepath.Base(bin), "llc", "opt", 1))); err == nil && opt != bin {
		c.opt = opt
	}
	return &LLVM{Path: bin, Version: v, compile: c.compile}, nil
}

func (c llc) compile(text string, g goal) (string, error) {
	if c.opt != "" {
		var err error
		if text, err = pipe(text, c.opt, "-passes="+g.passes, "-S", "-o", "-", "-"); err != nil {
			return "", err
		}
	}
	args := []string{"-O2", withoutLSR, "-mtriple=" + g.triple, "-mcpu=" + g.cpu, "-mattr=" + g.features, "-relocation-model=pic", "-o", "-", "-"}
	if g.object {
		args = append(args, "-filetype=obj")
	}
	return pipe(text, c.llc, args...)
}

func pipe(text, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, errs.String())
	}
	return out.String(), nil
}
