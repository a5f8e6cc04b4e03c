package ptx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Versions of LLVM that we know, the newest first. Our text has typed pointers: from 17 on LLVM reads them as
// pointers without a type.
var versions = []int{19, 18, 17, 16, 15, 14}

// ErrNoLLVM says that neither libLLVM nor llc is there.
var ErrNoLLVM = errors.New("GPU kernels need LLVM 14 to 19: install libllvm19 (Debian 12), or set PTOC_LLVM to a libLLVM or an llc")

// LLVM turns LLVM IR into code: a libLLVM, in this process, or an llc.
type LLVM struct {
	Path    string
	Version int
	compile func(text string, g goal) (string, error)
}

func (l *LLVM) inProcess() bool { return isLibrary(l.Path) }

// isLibrary tells a libLLVM from an llc.
func isLibrary(path string) bool { return strings.Contains(filepath.Base(path), ".so") }

func (l *LLVM) String() string { return fmt.Sprintf("LLVM %d (%s)", l.Version, l.Path) }

// goal is what LLVM makes of IR.
type goal struct {
	triple, cpu, features string
	passes                string // of the optimiser
	object                bool   // machine code instead of assembly
}

// optimizer is the list of passes on the way, which take a third of the time of LLVM's own -O2: the program has been
// optimised when it comes here, tiles in registers are values already, and what comes behind, NVIDIA's assembler,
// unrolls loops and schedules by itself. So helpers are expanded, what that leaves behind is folded, and loops get
// the form that the assembler unrolls: the test at the end, of the next turn's counter. InstCombine behind IndVars
// would turn that into a test of this turn's, which is why it comes before.
func optimizer(version int) string {
	instcombine := "instcombine"
	if version >= 18 {
		instcombine += "<no-verify-fixpoint>" // what is named in a text is checked as LLVM's own tests are, without this
	}
	return "always-inline,function(sroa,early-cse<memssa>,simplifycfg," + instcombine +
		",loop-mssa(loop-rotate,licm),loop(indvars,loop-deletion),early-cse,simplifycfg)"
}

// withoutLSR leaves out loop strength reduction: it gives every address of a loop a counter of its own, which costs
// registers that GPUs are short of, and a fifth of the time that LLVM takes.
const withoutLSR = "-disable-lsr"

// baseArch is what LLVM compiles for: we emit nothing newer, and old LLVMs know nothing newer.
const baseArch = "sm_80"

// Compile turns LLVM IR into PTX for arch ("sm_80").
func Compile(text, arch string) (string, error) {
	l, err := Find()
	if err != nil {
		return "", err
	}
	return l.Compile(text, arch)
}

// Compile turns LLVM IR into PTX for arch ("sm_80").
func (l *LLVM) Compile(text, arch string) (string, error) {
	version, err := ptxVersion(arch)
	if err != nil {
		return "", err
	}
	out, err := l.compile(text, goal{triple: "nvptx64-nvidia-cuda", cpu: baseArch, features: "+ptx70", passes: optimizer(l.Version)})
	if err == nil && !strings.Contains(out, "\n.target "+baseArch) { // an llc on a full disk, or one that is none
		err = errors.New("what it wrote is no PTX")
	}
	if err != nil {
		return "", fmt.Errorf("%s fails: %w", l, err)
	}
	if out = repair(out, l.Version); arch == baseArch {
		return out, nil
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
	l, err := Find()
	if err != nil {
		return nil, err
	}
	out, err := l.compile(text, goal{triple: "x86_64-unknown-linux-gnu", cpu: "x86-64", features: "+sse4.1,+fma,+f16c,+avx2",
		passes: optimizer(l.Version), object: true})
	return []byte(out), err
}

// architectures are those of GPUs that we compile for, with the lowest version of PTX that knows each.
var architectures = []struct{ name, ptx string }{{"sm_80", "7.0"}, {"sm_86", "7.1"}, {"sm_87", "7.4"}, {"sm_89", "7.8"}, {"sm_90", "7.8"},
	{"sm_90a", "8.0"}, {"sm_100", "8.6"}, {"sm_120", "8.7"}}

// Architectures are the names of the GPU architectures that Compile knows, the oldest first.
func Architectures() (names []string) {
	for _, a := range architectures {
		names = append(names, a.name)
	}
	return names
}

// ptxVersion is the lowest that knows the architecture.
func ptxVersion(arch string) (string, error) {
	for _, a := range architectures {
		if a.name == arch {
			return a.ptx, nil
		}
	}
	return "", fmt.Errorf("the GPU architecture %q is not known", arch)
}

// Find is the LLVM that $PTOC_LLVM names; without it the newest libLLVM, or else the newest llc.
func Find() (*LLVM, error) {
	named := os.Getenv("PTOC_LLVM")
	find, _ := found.LoadOrStore(named, sync.OnceValues(func() (*LLVM, error) { return find(named) }))
	return find.(func() (*LLVM, error))()
}

// found is what was found, by $PTOC_LLVM: a libLLVM is opened once.
var found sync.Map

func find(named string) (*LLVM, error) {
	if named != "" {
		l, err := open(named)
		if err != nil {
			return nil, fmt.Errorf("PTOC_LLVM: %s is no use: %w; %w", named, err, ErrNoLLVM)
		}
		return l, nil
	}
	for _, c := range candidates() {
		if l := first(c); l != nil {
			return l, nil
		}
	}
	return nil, ErrNoLLVM
}

// Installed are all that are found without $PTOC_LLVM, in the order of preference.
func Installed() (all []*LLVM) {
	for _, c := range candidates() {
		l := first(c)
		if l != nil && !slices.ContainsFunc(all, func(o *LLVM) bool { return o.Version == l.Version && o.inProcess() == l.inProcess() }) {
			all = append(all, l)
		}
	}
	return all
}

// candidates are where LLVM may be: the names of one thing are together.
func candidates() (groups [][]string) {
	for _, v := range versions {
		groups = append(groups, libraryNames(v))
	}
	for _, v := range versions {
		groups = append(groups, []string{fmt.Sprintf("llc-%d", v), fmt.Sprintf("/usr/lib/llvm-%d/bin/llc", v)})
	}
	return append(groups, []string{"llc"})
}

func first(paths []string) *LLVM {
	for _, p := range paths {
		if l, err := open(p); err == nil {
			return l
		}
	}
	return nil
}

// open takes a library or a program, if it is of a version that we know and has the backend for GPUs.
func open(path string) (l *LLVM, err error) {
	if isLibrary(path) {
		l, err = openLibrary(path)
	} else {
		l, err = openLLC(path)
	}
	if err != nil {
		return nil, err
	}
	if oldest, newest := versions[len(versions)-1], versions[0]; l.Version < oldest || l.Version > newest {
		return nil, fmt.Errorf("it is LLVM %d", l.Version)
	}
	return l, nil
}
