package cuda

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"ptoc/internal/cachedir"
)

// Load makes a module of PTX. The driver's compiler takes tens of milliseconds a kernel, so what it makes
// is kept on disk, by the PTX, the driver's version and the GPU's architecture.
func (g *gpu) Load(ptx string) (Module, error) {
	name := g.cacheName(ptx)
	if name != "" {
		cachedir.Use(name)
		if data, err := os.ReadFile(name); err == nil {
			if cubin, whole := opened(data); whole {
				if m, err := g.loadImage(cubin); err == nil {
					return m, nil
				}
			}
			os.Remove(name) // damaged
		}
	}
	cubin, err := g.assemble(ptx)
	if err != nil {
		return 0, err
	}
	if name != "" {
		keep(name, sealed(cubin))
	}
	return g.loadImage(cubin)
}

// sealed puts its sum in front of an image. The driver gets no length: one that a full disk or a crash cut off it
// would read beyond its end.
func sealed(image []byte) []byte {
	sum := sha256.Sum256(image)
	return append(sum[:], image...)
}

// opened is the image that was sealed, if it still is that.
func opened(data []byte) (image []byte, whole bool) {
	if len(data) <= sha256.Size {
		return nil, false
	}
	image = data[sha256.Size:]
	return image, sha256.Sum256(image) == [sha256.Size]byte(data)
}

const imageExt = ".cubin"

// cacheName is where the code of ptx is kept; "" if nothing can be.
func (g *gpu) cacheName(ptx string) string {
	dir, err := cachedir.Dir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s\n%s", g.lib.version, g.info.Arch(), ptx))
	return filepath.Join(dir, "cuda", fmt.Sprintf("%x%s", sum[:16], imageExt))
}

// keep writes an entry of the cache, and lets go of those that nobody uses. A cache that cannot be written is no
// error.
func keep(name string, data []byte) {
	dir := filepath.Dir(name)
	if os.MkdirAll(dir, 0o755) != nil {
		return
	}
	cachedir.Prune(dir, imageExt)
	f, err := os.CreateTemp(dir, cachedir.Temporary)
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
}

// jitLog is where the driver's compiler writes what it has to say.
type jitLog struct {
	options [2]int32
	values  [2]uintptr
	text    []byte
	pin     runtime.Pinner
}

// newLog asks for the errors. The driver keeps the buffer's address, so the buffer is pinned.
func newLog() *jitLog {
	const errorLog, errorLogSize = 5, 6
	l := &jitLog{options: [2]int32{errorLog, errorLogSize}, text: make([]byte, 16<<10)}
	l.pin.Pin(&l.text[0])
	l.values = [2]uintptr{uintptr(unsafe.Pointer(&l.text[0])), uintptr(len(l.text))}
	return l
}

func (l *jitLog) String() string {
	text, _, _ := bytes.Cut(l.text, []byte{0})
	return string(bytes.TrimSpace(text))
}

// assemble turns PTX into machine code of this GPU.
func (g *gpu) assemble(ptx string) ([]byte, error) {
	const inputPTX = 1
	log := newLog()
	defer log.pin.Unpin()
	log.pin.Pin(log)
	var state uintptr
	if err := g.call("cuLinkCreate_v2", 2, uintptr(unsafe.Pointer(&log.options)), uintptr(unsafe.Pointer(&log.values)),
		uintptr(unsafe.Pointer(&state))); err != nil {
		return nil, err
	}
	defer g.call("cuLinkDestroy", state)
	text, name := cString(ptx), cString("kernels.ptx")
	err := g.call("cuLinkAddData_v2", state, inputPTX, uintptr(unsafe.Pointer(text)), uintptr(len(ptx)+1), uintptr(unsafe.Pointer(name)), 0, 0, 0)
	var at uintptr
	var size int64
	if err == nil {
		err = g.call("cuLinkComplete", state, uintptr(unsafe.Pointer(&at)), uintptr(unsafe.Pointer(&size)))
	}
	if e, ok := err.(*Error); ok {
		e.Log = log.String()
	}
	if err != nil {
		return nil, err
	}
	return bytes.Clone(bytesAt(at, size)), nil // the link's own memory goes with it
}

// loadImage makes a module of machine code.
func (g *gpu) loadImage(image []byte) (m Module, err error) {
	if len(image) == 0 {
		return 0, errors.New("the driver's compiler made nothing of them")
	}
	log := newLog()
	defer log.pin.Unpin()
	err = g.call("cuModuleLoadDataEx", uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&image[0])), 2,
		uintptr(unsafe.Pointer(&log.options)), uintptr(unsafe.Pointer(&log.values)))
	if e, ok := err.(*Error); ok {
		e.Log = log.String()
	}
	if err == nil {
		g.modules = append(g.modules, m)
	}
	return m, err
}

func (g *gpu) Function(m Module, name string) (f Function, err error) {
	n := cString(name)
	err = g.call("cuModuleGetFunction", uintptr(unsafe.Pointer(&f)), uintptr(m), uintptr(unsafe.Pointer(n)))
	return f, err
}
