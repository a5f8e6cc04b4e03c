package ptx

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"ptoc/internal/sharedlib"
)

// library is libLLVM's C API.
type library struct {
	contextCreate, parseIR, targetFromTriple, createMachine uintptr
	dispose                                                 map[string]uintptr
	bufferCopy, bufferStart, bufferSize, emit               uintptr
	runPasses, passOptions, disposePassOptions              uintptr
}

// libraryNames are what distributions call a version's libLLVM.
func libraryNames(v int) []string {
	return []string{fmt.Sprintf("libLLVM-%d.so.1", v), fmt.Sprintf("libLLVM.so.%d.1", v), fmt.Sprintf("libLLVM-%d.so", v),
		fmt.Sprintf("/usr/lib/llvm-%d/lib/libLLVM.so.1", v)}
}

func openLibrary(path string) (*LLVM, error) {
	h, err := sharedlib.Open(path)
	if err != nil {
		return nil, err
	}
	l, err := bindLibrary(h)
	if err != nil {
		return nil, err
	}
	return &LLVM{Path: path, Version: libraryVersion(h), compile: l.compile}, nil
}

// libraryVersion asks the library, or, before 16, looks for what came with a version. 13 stands for all that
// are older than 14.
func libraryVersion(h uintptr) int {
	if f, err := purego.Dlsym(h, "LLVMGetVersion"); err == nil {
		var keep runtime.Pinner
		defer keep.Unpin()
		var major uint32
		call(f, ptr(&keep, &major), 0, 0)
		return int(major)
	}
	for _, new := range []struct {
		name string
		in   int
	}{{"LLVMPointerTypeInContext", 15}, {"LLVMGetGEPSourceElementType", 14}} {
		if _, err := purego.Dlsym(h, new.name); err == nil {
			return new.in
		}
	}
	return 13
}

// withOptions are the libraries that were given our options, which hold for the process, where nobody else uses
// them. There is no other way to say them to a library, and it takes them once. A library that is opened again,
// under any name, has the handle that it had.
var withOptions sync.Map

// bindLibrary finds the functions.
func bindLibrary(h uintptr) (*library, error) {
	missing := ""
	sym := func(name string) uintptr {
		p, err := purego.Dlsym(h, "LLVM"+name)
		if err != nil && missing == "" {
			missing = name
		}
		return p
	}
	for _, part := range []string{"TargetInfo", "Target", "TargetMC", "AsmPrinter"} {
		if f := sym("InitializeNVPTX" + part); f != 0 {
			call(f)
		}
		if f, err := purego.Dlsym(h, "LLVMInitializeX86"+part); err == nil {
			call(f)
		}
	}
	l := &library{contextCreate: sym("ContextCreate"), parseIR: sym("ParseIRInContext"), targetFromTriple: sym("GetTargetFromTriple"),
		createMachine: sym("CreateTargetMachine"), bufferCopy: sym("CreateMemoryBufferWithMemoryRangeCopy"), bufferStart: sym("GetBufferStart"),
		bufferSize: sym("GetBufferSize"), emit: sym("TargetMachineEmitToMemoryBuffer"), runPasses: sym("RunPasses"),
		passOptions: sym("CreatePassBuilderOptions"), disposePassOptions: sym("DisposePassBuilderOptions"), dispose: map[string]uintptr{}}
	for _, what := range []string{"ContextDispose", "DisposeModule", "DisposeTargetMachine", "DisposeMemoryBuffer", "DisposeMessage",
		"GetErrorMessage", "DisposeErrorMessage"} {
		l.dispose[what] = sym(what)
	}
	parseOptions := sym("ParseCommandLineOptions")
	if missing != "" {
		return nil, fmt.Errorf("it has no LLVM%s", missing)
	}
	if _, again := withOptions.LoadOrStore(h, true); !again {
		var keep runtime.Pinner
		defer keep.Unpin()
		argv := [...]uintptr{ptr(&keep, cString("ptoc")), ptr(&keep, cString(withoutLSR))}
		call(parseOptions, uintptr(len(argv)), ptr(&keep, &argv), 0)
	}
	return l, nil
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
func (l *library) compile(text string, g goal) (string, error) {
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
	const levelDefault, relocPIC, modelDefault = 2, 2, 0
	tm := call(l.createMachine, target, ptr(&keep, triple), ptr(&keep, cpu), ptr(&keep, feat), levelDefault, relocPIC, modelDefault)
	defer call(l.dispose["DisposeTargetMachine"], tm)
	opts := call(l.passOptions)
	defer call(l.disposePassOptions, opts)
	passes := cString(g.passes)
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

func (l *library) failure(what string, msg uintptr) error {
	text := goString(msg)
	if msg != 0 {
		call(l.dispose["DisposeMessage"], msg)
	}
	return fmt.Errorf("%s: %s", what, text)
}
