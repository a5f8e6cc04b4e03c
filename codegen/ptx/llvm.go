package ptx

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// LLVM versions that take the typed pointers which we emit.
var versions = []int{19, 18, 17, 16, 15, 14}

// ErrNoLLVM says that neither libLLVM nor llc is there.
var ErrNoLLVM = errors.New("GPU kernels need LLVM 14 to 19: install libllvm14 (Debian), or set PTOC_LLVM to a libLLVM or an llc")

// goal is what LLVM makes of IR.
type goal struct {
	triple, cpu, features string
	object                bool // machine code instead of assembly
}

// baseArch is what LLVM compiles for: we emit nothing newer, and old LLVMs know nothing newer.
const baseArch = "sm_80"

// Compile turns LLVM IR into PTX for arch ("sm_80").
func Compile(text, arch string) (string, error) {
	out, err := compile(text, goal{triple: "nvptx64-nvidia-cuda", cpu: baseArch, features: "+ptx70"})
	if err != nil || arch == baseArch {
		return out, err
	}
	version, err := ptxVersion(arch)
	if err != nil {
		return "", err
	}
	out = strings.Replace(out, "\n.version 7.0\n", "\n.version "+version+"\n", 1)
	return strings.Replace(out, "\n.target "+baseArch, "\n.target "+arch, 1), nil
}

// Object turns LLVM IR into an object file, to be linked into a shared one, of the kind of machine that it
// runs on: tests run kernels as machine code.
func Object(text string) ([]byte, error) {
	if runtime.GOARCH != "amd64" {
		return nil, ErrNoLLVM
	}
	out, err := compile(text, goal{triple: "x86_64-unknown-linux-gnu", cpu: "x86-64", features: "+sse4.1,+fma,+f16c,+avx2", object: true})
	return []byte(out), err
}

func compile(text string, g goal) (string, error) {
	lib, err := library()
	if err == nil {
		return lib.compile(text, g)
	}
	if llc, llcErr := findLLC(); llcErr == nil {
		return runLLC(llc, text, g)
	}
	return "", err
}

// ptxVersion is the lowest that knows the architecture.
func ptxVersion(arch string) (string, error) {
	v, ok := map[string]string{"sm_80": "7.0", "sm_86": "7.1", "sm_87": "7.4", "sm_89": "7.8", "sm_90": "7.8", "sm_90a": "8.0",
		"sm_100": "8.6", "sm_120": "8.7"}[arch]
	if !ok {
		return "", fmt.Errorf("the GPU architecture %q is not known: sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a, sm_100 or sm_120", arch)
	}
	return v, nil
}

// llvm is libLLVM's C API.
type llvm struct {
	name                                                    string // of the file
	contextCreate, parseIR, targetFromTriple, createMachine uintptr
	dispose                                                 map[string]uintptr
	bufferCopy, bufferStart, bufferSize, emit               uintptr
	runPasses, passOptions, disposePassOptions              uintptr
}

var library = sync.OnceValues(openLibrary)

// openLibrary opens the newest libLLVM that it finds.
func openLibrary() (*llvm, error) {
	var names []string
	if p := os.Getenv("PTOC_LLVM"); p != "" {
		if !strings.Contains(p, ".so") {
			return nil, ErrNoLLVM // an llc
		}
		names = []string{p}
	} else {
		for _, v := range versions {
			names = append(names, fmt.Sprintf("libLLVM-%d.so.1", v), fmt.Sprintf("libLLVM.so.%d.1", v), fmt.Sprintf("libLLVM-%d.so", v),
				fmt.Sprintf("/usr/lib/llvm-%d/lib/libLLVM.so.1", v))
		}
	}
	for _, name := range names {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			continue
		}
		if l := bindLibrary(h); l != nil {
			l.name = name
			return l, nil
		}
	}
	return nil, ErrNoLLVM
}

// bindLibrary finds the functions; nil if the library lacks one, or the NVPTX backend.
func bindLibrary(h uintptr) *llvm {
	ok := true
	sym := func(name string) uintptr {
		p, err := purego.Dlsym(h, "LLVM"+name)
		ok = ok && err == nil
		return p
	}
	for _, part := range []string{"TargetInfo", "Target", "TargetMC", "AsmPrinter"} {
		if f := sym("InitializeNVPTX" + part); ok {
			purego.SyscallN(f)
		}
		if f, err := purego.Dlsym(h, "LLVMInitializeX86"+part); err == nil {
			purego.SyscallN(f)
		}
	}
	l := &llvm{contextCreate: sym("ContextCreate"), parseIR: sym("ParseIRInContext"), targetFromTriple: sym("GetTargetFromTriple"),
		createMachine: sym("CreateTargetMachine"), bufferCopy: sym("CreateMemoryBufferWithMemoryRangeCopy"), bufferStart: sym("GetBufferStart"),
		bufferSize: sym("GetBufferSize"), emit: sym("TargetMachineEmitToMemoryBuffer"), runPasses: sym("RunPasses"),
		passOptions: sym("CreatePassBuilderOptions"), disposePassOptions: sym("DisposePassBuilderOptions"), dispose: map[string]uintptr{}}
	for _, what := range []string{"ContextDispose", "DisposeModule", "DisposeTargetMachine", "DisposeMemoryBuffer", "DisposeMessage",
		"GetErrorMessage", "DisposeErrorMessage"} {
		l.dispose[what] = sym(what)
	}
	if !ok {
		return nil
	}
	return l
}

// cString is a zero-terminated copy.
func cString(s string) *byte { return &append([]byte(s), 0)[0] }

func goString(p uintptr) string {
	if p == 0 {
		return ""
	}
	n := 0
	base := *(*unsafe.Pointer)(unsafe.Pointer(&p))
	for *(*byte)(unsafe.Add(base, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(base), n))
}

// ptr is an argument that points to p. LLVM reads and writes there, so p may neither be collected nor move with a
// goroutine's stack before keep is unpinned.
func ptr[T any](keep *runtime.Pinner, p *T) uintptr {
	keep.Pin(p)
	return uintptr(unsafe.Pointer(p))
}

func call(f uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(f, args...)
	return r
}

// compile parses, optimises and emits in a context of its own.
func (l *llvm) compile(text string, g goal) (string, error) {
	var keep runtime.Pinner
	defer keep.Unpin()
	ctx := call(l.contextCreate)
	defer call(l.dispose["ContextDispose"], ctx)
	in, name := cString(text), cString("kernels.ll")
	buf := call(l.bufferCopy, ptr(&keep, in), uintptr(len(text)), ptr(&keep, name))
	var mod, msg uintptr
	if call(l.parseIR, ctx, buf, ptr(&keep, &mod), ptr(&keep, &msg))&1 != 0 { // takes buf
		return "", l.failure("LLVM does not accept the kernels' IR", msg)
	}
	defer call(l.dispose["DisposeModule"], mod)
	triple, cpu, feat := cString(g.triple), cString(g.cpu), cString(g.features)
	var target uintptr
	if call(l.targetFromTriple, ptr(&keep, triple), ptr(&keep, &target), ptr(&keep, &msg))&1 != 0 {
		return "", l.failure("LLVM has no backend for "+g.triple, msg)
	}
	const aggressive, relocPIC, modelDefault = 3, 2, 0
	tm := call(l.createMachine, target, ptr(&keep, triple), ptr(&keep, cpu), ptr(&keep, feat), aggressive, relocPIC, modelDefault)
	defer call(l.dispose["DisposeTargetMachine"], tm)
	opts := call(l.passOptions)
	defer call(l.disposePassOptions, opts)
	passes := cString("default<O2>")
	if e := call(l.runPasses, mod, ptr(&keep, passes), tm, opts); e != 0 {
		return "", fmt.Errorf("LLVM's optimiser: %s", goString(call(l.dispose["GetErrorMessage"], e)))
	}
	var out uintptr
	kind := uintptr(0)
	if g.object {
		kind = 1
	}
	if call(l.emit, tm, mod, kind, ptr(&keep, &msg), ptr(&keep, &out))&1 != 0 {
		return "", l.failure("LLVM cannot emit the kernels", msg)
	}
	defer call(l.dispose["DisposeMemoryBuffer"], out)
	start := call(l.bufferStart, out)
	base := *(*unsafe.Pointer)(unsafe.Pointer(&start))
	return string(unsafe.Slice((*byte)(base), call(l.bufferSize, out))), nil
}

func (l *llvm) failure(what string, msg uintptr) error {
	text := goString(msg)
	if msg != 0 {
		call(l.dispose["DisposeMessage"], msg)
	}
	return fmt.Errorf("%s: %s", what, text)
}

// findLLC finds an llc of a version that we know.
func findLLC() (string, error) {
	if p := os.Getenv("PTOC_LLVM"); strings.Contains(p, ".so") {
		return "", ErrNoLLVM // a library, and it could not be opened
	} else if p != "" {
		return p, nil
	}
	names := []string{}
	for _, v := range versions {
		names = append(names, fmt.Sprintf("llc-%d", v), fmt.Sprintf("/usr/lib/llvm-%d/bin/llc", v))
	}
	for _, n := range append(names, "llc") {
		if p, err := exec.LookPath(n); err == nil {
			return p, nil
		}
	}
	return "", ErrNoLLVM
}

// runLLC compiles with llc, and with the opt beside it if there is one.
func runLLC(llc, text string, g goal) (string, error) {
	if opt := strings.Replace(llc, "llc", "opt", 1); opt != llc {
		if p, err := exec.LookPath(opt); err == nil {
			if text, err = pipe(text, p, "-O2", "-S", "-o", "-", "-"); err != nil {
				return "", err
			}
		}
	}
	args := []string{"-O3", "-mtriple=" + g.triple, "-mcpu=" + g.cpu, "-mattr=" + g.features, "-relocation-model=pic", "-o", "-", "-"}
	if g.object {
		args = append(args, "-filetype=obj")
	}
	return pipe(text, llc, args...)
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
