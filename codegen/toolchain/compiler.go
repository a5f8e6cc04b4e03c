// Package toolchain turns C++ text into shared objects: it finds a compiler,
// runs it, and keeps what it made in a content-addressed cache.
package toolchain

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// ErrNoCompiler says that none of the candidates is there.
var ErrNoCompiler = errors.New("no C++ compiler found: install one with `apt install g++`, or set PTOC_CXX to its path")

// Compiler is one C++ compiler driver, GCC's or Clang's.
type Compiler struct {
	Path string
	// Identity changes when the compiler does: its resolved path, size and
	// time stamp. (Asking for its version would cost a process each time.)
	Identity string
}

// Find looks for $PTOC_CXX, g++, clang++, in this order.
func Find() (*Compiler, error) {
	if cxx := os.Getenv("PTOC_CXX"); cxx != "" {
		c, err := lookup(cxx)
		if err != nil {
			return nil, unusable{fmt.Errorf("PTOC_CXX names a compiler that cannot be run: %w", err)}
		}
		return c, nil
	}
	for _, name := range []string{"g++", "clang++"} {
		if c, err := lookup(name); err == nil {
			return c, nil
		}
	}
	return nil, ErrNoCompiler
}

// unusable is a compiler that was named and is not there.
type unusable struct{ error }

func (unusable) Is(target error) bool { return target == ErrNoCompiler }

func lookup(name string) (*Compiler, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	id := fmt.Sprintf("%s %d %d", real, info.Size(), info.ModTime().UnixNano())
	return &Compiler{Path: path, Identity: id}, nil
}

// Version returns the first line of the compiler's own description.
func (c *Compiler) Version() string {
	out, err := exec.Command(c.Path, "--version").Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// Sanitizer is an instrumentation that the compiler adds.
type Sanitizer string

const (
	NoSanitizer      Sanitizer = ""
	ThreadSanitizer  Sanitizer = "thread"
	AddressSanitizer Sanitizer = "address"
)

// Runtime returns the library that must be preloaded (LD_PRELOAD) into a process
// that loads objects compiled with s: it cannot be loaded later.
func (c *Compiler) Runtime(s Sanitizer) (string, error) {
	name := map[Sanitizer]string{ThreadSanitizer: "libtsan.so", AddressSanitizer: "libasan.so"}[s]
	if name == "" {
		return "", fmt.Errorf("no sanitizer %q", s)
	}
	out, err := exec.Command(c.Path, "-print-file-name="+name).Output()
	if err != nil {
		return "", err
	}
	path := strings.TrimSpace(string(out))
	if !filepath.IsAbs(path) { // the compiler repeats what it does not find
		return "", fmt.Errorf("%s has no %s", c.Path, name)
	}
	return path, nil
}

// Options of one compilation. The zero value is what kernels want.
type Options struct {
	Sanitize Sanitizer
	System   bool     // may include C headers and link against libc: the engine, not kernels
	Flags    []string // added at the end
}

// baseFlags apply to all that we compile.
//
//   - -ffp-contract=off: a*b+c rounds twice, as the reference interpreter does;
//     generated code asks for a fused multiply-add where it wants one.
//   - -fwrapv: integers of the language wrap.
//   - -fno-strict-aliasing: windows are bytes that programs see under several types.
//   - -fno-semantic-interposition, -Bsymbolic: functions of one unit call each
//     other directly, and are inlined.
//   - -pipe, -nostdlib: 12 of 55 ms less per kernel (no temporary files; the
//     linker does not read libstdc++). libgcc holds conversions that the CPU lacks.
var baseFlags = []string{
	"-std=c++17", "-shared", "-fPIC", "-pipe", "-march=native",
	"-fno-exceptions", "-fno-rtti", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
	"-fwrapv", "-fno-strict-aliasing", "-fno-semantic-interposition",
	"-nostdlib", "-Wl,-Bsymbolic,--as-needed,--build-id=none", "-w",
}

func (o Options) flags() []string {
	f := append([]string{}, baseFlags...)
	switch {
	case o.Sanitize != NoSanitizer:
		f = append(f, "-O1", "-g", "-fsanitize="+string(o.Sanitize))
	case o.System: // the engine is as fast as with -O2, and compiles in 90 ms instead of 150
		f = append(f, "-Og")
	default:
		f = append(f, "-O3")
	}
	return append(f, o.Flags...)
}

// CommandLine is what the compiler is called with, but for files and libraries.
func (o Options) CommandLine() []string { return o.flags() }

func (o Options) libs() []string {
	if o.System {
		return []string{"-lgcc", "-lc"}
	}
	return []string{"-lgcc", "-lm", "-lc"}
}

// Error is a compiler's refusal.
type Error struct {
	Unit   string
	Output string
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("compiling %s: %v\n%s", e.Unit, e.Err, strings.TrimSpace(e.Output))
}

func (e *Error) Unwrap() error { return e.Err }

// compile makes a shared object of text.
func (c *Compiler) compile(ctx context.Context, name, text string, o Options, out string) error {
	return c.run(ctx, name, text, out, append([]string{"-x", "c++", "-"}, o.libs()...), o)
}

// object makes an object file, for link.
func (c *Compiler) object(ctx context.Context, name, text string, o Options, out string) error {
	return c.run(ctx, name, text, out, []string{"-c", "-x", "c++", "-"}, o)
}

// link makes a shared object of object files.
func (c *Compiler) link(ctx context.Context, name string, objects []string, o Options, out string) error {
	return c.run(ctx, name, "", out, append(slices.Clone(objects), o.libs()...), o)
}

// run calls the compiler with text on its standard input.
func (c *Compiler) run(ctx context.Context, name, text, out string, args []string, o Options) error {
	cmd := exec.CommandContext(ctx, c.Path, append(append(o.flags(), "-o", out), args...)...)
	cmd.Stdin = strings.NewReader(fmt.Sprintf("# 1 %q\n%s", name, text))
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	// The driver's own children must not outlive a cancelled compilation.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return &Error{Unit: name, Output: output.String(), Err: err}
	}
	if !isObject(out) {
		return &Error{Unit: name, Output: output.String(), Err: fmt.Errorf("%s ends without an error, but wrote no object file", c.Path)}
	}
	return nil
}

// isObject reports whether the file begins as object files do.
func isObject(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(elf.ELFMAG))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == elf.ELFMAG
}
