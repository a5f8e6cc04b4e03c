package ptxrun

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"ptoc/codegen/abi"
	"ptoc/codegen/ptx"
	"ptoc/codegen/toolchain"
	"ptoc/internal/sharedlib"
)

// blockText is what a thread block is on a CPU.
//
//go:embed host/block.inc
var blockText string

// host is the machine that runs kernels' LLVM IR as machine code: one thread of the system a block. Each block
// of each rank has a copy of the library, because shared memory is a variable in it.
type host struct {
	dir   string
	lib   string
	ranks [][]copied // the copies of a rank's blocks
	kept  [][]byte   // memory that only its address is known of
}

type copied struct {
	handle, run uintptr
}

func newHost(out *ptx.Output, ranks int) (*host, error) {
	dir, err := os.MkdirTemp("", "ptoc-host")
	if err != nil {
		return nil, err
	}
	h := &host{dir: dir, ranks: make([][]copied, ranks)}
	if h.lib, err = h.build(out.LLVM); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// build compiles the kernels and links them with what they call.
func (h *host) build(text string) (string, error) {
	cxx, err := toolchain.Find()
	if err != nil {
		return "", err
	}
	code, err := ptx.Object(portable(text))
	if err != nil {
		return "", err
	}
	file := func(name string) string { return filepath.Join(h.dir, name) }
	if err := os.WriteFile(file("kernels.o"), code, 0o644); err != nil {
		return "", err
	}
	block, err := blockObject()
	if err == nil {
		err = os.WriteFile(file("block.o"), block, 0o644)
	}
	if err != nil {
		return "", err
	}
	cmd := exec.Command(cxx.Path, "-shared", "-Wl,-z,defs", "-o", file("kernels.so"), file("block.o"), file("kernels.o"), "-lm")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return file("kernels.so"), nil
}

// blockObject compiles the block, once.
var blockObject = sync.OnceValues(func() ([]byte, error) {
	cxx, err := toolchain.Find()
	if err != nil {
		return nil, err
	}
	out, err := os.CreateTemp("", "ptoc-block*.o")
	if err != nil {
		return nil, err
	}
	out.Close()
	defer os.Remove(out.Name())
	cmd := exec.Command(cxx.Path, "-O2", "-mf16c", "-msse4.1", "-fPIC", "-c", "-o", out.Name(), "-x", "c++", "-")
	cmd.Stdin = strings.NewReader(blockText)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", cmd.Args, err, text)
	}
	return os.ReadFile(out.Name())
})

// open makes sure that a rank has copies for so many blocks.
func (h *host) open(rank, blocks int) error {
	for len(h.ranks[rank]) < blocks {
		path := fmt.Sprintf("%s.%d.%d", h.lib, rank, len(h.ranks[rank]))
		data, err := os.ReadFile(h.lib)
		if err == nil {
			err = os.WriteFile(path, data, 0o755)
		}
		if err != nil {
			return err
		}
		l := copied{}
		if l.handle, err = sharedlib.Open(path); err != nil {
			return err
		}
		if l.run, err = purego.Dlsym(l.handle, "host_run"); err != nil {
			return err
		}
		h.ranks[rank] = append(h.ranks[rank], l)
	}
	return nil
}

var (
	assembly  = regexp.MustCompile(`call ([^"@]+?) asm (?:sideeffect )?"([^"]*)", "[^"]*"\((.*)\)`)
	operation = regexp.MustCompile(`[^a-z0-9]+`)
	aggregate = regexp.MustCompile(`^\{ *(\w+).*\}$`)
)

// portable replaces what only the GPU has by calls: inline assembly by functions that are called like the
// instruction, with the number of operands; intrinsics by functions of their names.
func portable(text string) string {
	for _, line := range []string{"target datalayout", "target triple", "!nvvm", "!0", "!1", "!2", "!3", "!4", "!5", "!6", "!7", "!8", "!9"} {
		text = regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(line)+`.*$`).ReplaceAllString(text, "")
	}
	text = strings.ReplaceAll(text, ", !range !0", "")
	text = regexp.MustCompile(`@llvm\.nvvm\.[\w.]+`).ReplaceAllStringFunc(text, func(s string) string {
		return "@" + strings.ReplaceAll(strings.TrimPrefix(s, "@llvm."), ".", "_")
	})
	made := map[string]string{}
	text = assembly.ReplaceAllStringFunc(text, func(s string) string {
		m := assembly.FindStringSubmatch(s)
		name, types := callee(m[2], m[3])
		if made[name] == "" {
			made[name] = declare(m[1], name, types)
		}
		if aggregate.MatchString(m[1]) {
			name += "."
		}
		return fmt.Sprintf("call %s @%s(%s)", m[1], name, m[3])
	})
	var b strings.Builder
	b.WriteString("target triple = \"x86_64-unknown-linux-gnu\"\n")
	b.WriteString(text)
	for _, d := range made {
		b.WriteString(d)
	}
	return b.String()
}

// callee names the function of an instruction and gives its operands' types.
func callee(instr, args string) (name string, types []string) {
	for _, a := range strings.Split(args, ", ") {
		if i := strings.LastIndex(a, " "); i > 0 {
			types = append(types, a[:i])
		}
	}
	op, _, _ := strings.Cut(strings.TrimSuffix(instr, ";"), " ")
	return fmt.Sprintf("%s_%d", operation.ReplaceAllString(op, "_"), len(types)), types
}

// declare declares it; several results are written to memory, as C++ functions do.
func declare(ret, name string, types []string) string {
	m := aggregate.FindStringSubmatch(ret)
	if m == nil {
		return fmt.Sprintf("declare %s @%s(%s)\n", ret, name, strings.Join(types, ", "))
	}
	var params, args []string
	for i, t := range types {
		params, args = append(params, fmt.Sprintf("%s %%a%d", t, i)), append(args, fmt.Sprintf("%s %%a%d", t, i))
	}
	return fmt.Sprintf("declare void @%s(%s*, %s)\ndefine internal %s @%s.(%s) {\n  %%p = alloca %s\n  %%q = bitcast %s* %%p to %s*\n"+
		"  call void @%s(%s* %%q, %s)\n  %%r = load %s, %s* %%p\n  ret %s %%r\n}\n",
		name, m[1], strings.Join(types, ", "), ret, name, strings.Join(params, ", "), ret, ret, m[1], name, m[1], strings.Join(args, ", "), ret, ret, ret)
}

func (h *host) segment() int { return 64 << 20 }

func (h *host) Alloc(_ string, n int) uint64 { return (h.Map("", make([]byte, n+64)) + 63) &^ 63 }

func (h *host) Map(_ string, data []byte) uint64 {
	h.kept = append(h.kept, data)
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
}

func (h *host) Bytes(addr uint64, n int) []byte {
	p := uintptr(addr)
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), n)
}

func (h *host) run(ranks [][]job, watch func(int64)) error {
	var all sync.WaitGroup
	for r, jobs := range ranks {
		for _, j := range jobs {
			if err := h.open(r, j.blocks); err != nil {
				return err
			}
		}
		all.Go(func() {
			for _, j := range jobs {
				h.grid(r, j)
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	start := time.Now()
	for {
		select {
		case <-done:
			return nil
		case <-time.After(time.Millisecond):
			watch(int64(time.Since(start)))
		}
	}
}

// grid runs the blocks of a job to their ends.
func (h *host) grid(rank int, j job) {
	var blocks sync.WaitGroup
	for b := range j.blocks {
		blocks.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			l := h.ranks[rank][b]
			entry, err := purego.Dlsym(l.handle, abi.KernelSymbol(j.kernel.Name))
			if err != nil {
				panic(err) // it is an entry of the library
			}
			purego.SyscallN(l.run, entry, uintptr(j.record), uintptr(j.kernel.Threads), uintptr(b), uintptr(j.blocks))
		})
	}
	blocks.Wait()
}

func (h *host) close() {
	for _, copies := range h.ranks {
		for _, l := range copies {
			purego.Dlclose(l.handle)
		}
	}
	os.RemoveAll(h.dir)
}
