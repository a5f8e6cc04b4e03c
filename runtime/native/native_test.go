package native

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"sync"
	"testing"
	"time"
	"unsafe"

	"ptoc/codegen/abi"
	"ptoc/codegen/toolchain"
)

func TestMain(m *testing.M) {
	if os.Getenv("PTOC_TEST_FORGETFUL") != "" && os.Getenv(workerEnv) != "" {
		os.Exit(3)
	}
	MaybeWorker()
	os.Exit(m.Run())
}

// sanitizer is set in processes that run under one: see sanitizer_test.go.
var sanitizer = toolchain.Sanitizer(os.Getenv("PTOC_TEST_SANITIZER"))

type fixture struct {
	*Engine
	t   testing.TB
	mod Module
}

func build(t testing.TB) (engine, kernels string) {
	t.Helper()
	tc, err := toolchain.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tc.Compiler(); err != nil {
		t.Skip(err)
	}
	if engine, err = Build(context.Background(), tc, sanitizer); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/kernels.cpp")
	if err != nil {
		t.Fatal(err)
	}
	res, err := tc.Compile(context.Background(), toolchain.Unit{Name: "kernels.cpp", Source: abi.Prelude() + string(text)},
		toolchain.Options{Sanitize: sanitizer})
	if err != nil {
		t.Fatal(err)
	}
	return engine, res.Path
}

func open(t testing.TB, cfg Config) *fixture {
	t.Helper()
	engine, kernels := build(t)
	cfg.EnginePath = engine
	if sanitizer != "" { // the sanitizers' shadow memory makes address space dear
		cfg.WindowBytes, cfg.HeapBytes = 4<<20, 64<<20
	}
	e, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	mod, err := e.Load(kernels)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{e, t, mod}
}

func (f *fixture) kernel(name string) Kernel {
	f.t.Helper()
	k, err := f.Kernel(f.mod, name)
	if err != nil {
		f.t.Fatal(err)
	}
	return k
}

func TestMemoryBeyondTheRegionIsRefused(t *testing.T) {
	f := open(t, Config{Ranks: 1})
	for _, bytes := range []int64{-1, math.MinInt64, 1 << 50, math.MaxInt64 - 62, math.MaxInt64} {
		if off, err := f.AllocWindow(bytes); err == nil {
			t.Errorf("a window of %d bytes stands at %d", bytes, off)
		}
		if b, err := f.Alloc(bytes); err == nil {
			t.Errorf("a tensor of %d bytes has %d", bytes, len(b.Data))
		}
	}
	f.window(0)
	f.alloc(0)
}

func (f *fixture) all() Domain {
	f.t.Helper()
	devices := make([]int, f.Ranks())
	for i := range devices {
		devices[i] = i
	}
	d, err := f.Domain(devices)
	if err != nil {
		f.t.Fatal(err)
	}
	return d
}

func (f *fixture) window(bytes int64) int64 {
	f.t.Helper()
	off, err := f.AllocWindow(bytes)
	if err != nil {
		f.t.Fatal(err)
	}
	return off
}

func (f *fixture) alloc(bytes int64) Buffer {
	f.t.Helper()
	b, err := f.Alloc(bytes)
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

func (f *fixture) submit(rank int, k Kernel, args ...Arg) int64 {
	f.t.Helper()
	seq, err := f.Submit(rank, k, args)
	if err != nil {
		f.t.Fatal(err)
	}
	return seq
}

func (f *fixture) submitAll(k Kernel, args ...Arg) {
	f.t.Helper()
	if err := f.SubmitAll(k, args); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) wait() {
	f.t.Helper()
	if err := f.Wait(context.Background()); err != nil {
		f.t.Fatal(err)
	}
}

func as[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// everywhere runs a test in both modes and at several rank counts.
func everywhere(t *testing.T, ranks []int, test func(t *testing.T, f *fixture)) {
	for _, mode := range []Mode{Threads, Processes} {
		for _, n := range ranks {
			t.Run(fmt.Sprintf("%v/%d", mode, n), func(t *testing.T) {
				test(t, open(t, Config{Ranks: n, Mode: mode, Timeout: 10 * time.Second}))
			})
		}
	}
}

func TestKernelsSeeHostTensors(t *testing.T) {
	everywhere(t, []int{1, 3}, func(t *testing.T, f *fixture) {
		const n = 1000
		x, y := f.alloc(4*n*int64(f.Ranks())), f.alloc(4*n*int64(f.Ranks()))
		for i := range as[float32](x.Data) {
			as[float32](x.Data)[i] = float32(i)
		}
		for range 3 {
			for r := range f.Ranks() {
				at := int64(4 * n * r)
				f.submit(r, f.kernel("add"), Heap(x.Offset+at), Heap(y.Offset+at), Int(n))
			}
		}
		f.wait()
		for i, v := range as[float32](y.Data) {
			if v != 3*float32(i) {
				t.Fatalf("y[%d] = %v", i, v)
			}
		}
	})
}

func TestScalarsAndDeviceReachTheKernel(t *testing.T) {
	everywhere(t, []int{2}, func(t *testing.T, f *fixture) {
		out := f.alloc(int64(32 * f.Ranks()))
		f.submitAll(f.kernel("report"), Heap(out.Offset), Int(-5), Float(math.Pi))
		f.wait()
		for r := range f.Ranks() {
			got := [4]float64(as[float64](out.Data)[4*r:])
			if want := [4]float64{float64(r), float64(f.Ranks()), -5, math.Pi}; got != want {
				t.Errorf("rank %d: %v, want %v", r, got, want)
			}
		}
	})
}

func TestSignalsOrderRemoteWrites(t *testing.T) {
	everywhere(t, []int{1, 2, 8, 16, 64}, func(t *testing.T, f *fixture) {
		d, sig := f.all(), f.window(4)
		n := int64(f.Ranks())
		out := f.alloc(8 * n)
		k, bar := f.kernel("ring_shift"), f.kernel("barriers")
		bell := f.window(4)
		data := f.window(800)
		for round := int64(1); round <= 5; round++ {
			f.submitAll(k, InDomain(d), Int(data), Int(sig), Int(round), Heap(out.Offset))
			// Nobody may write again before all have read.
			f.submitAll(bar, InDomain(d), Int(bell), Int(round-1), Int(1))
			f.wait()
			for r, got := range as[int64](out.Data) {
				left := (int64(r) + n - 1) % n
				if want := 100 * (round*1000 + left); got != want {
					t.Fatalf("round %d rank %d: %d, want %d", round, r, got, want)
				}
			}
		}
	})
}

func TestPingPong(t *testing.T) {
	everywhere(t, []int{2, 4}, func(t *testing.T, f *fixture) {
		d, cell := f.all(), f.window(4)
		f.submitAll(f.kernel("ping_pong"), InDomain(d), Int(cell), Int(0), Int(2000))
		f.wait()
		if got := binary.LittleEndian.Uint32(f.Window(1, cell, 4)); got != 2000 {
			t.Errorf("the cell holds %d", got)
		}
	})
}

func TestADomainMayBeASubsetInAnyOrder(t *testing.T) {
	everywhere(t, []int{4}, func(t *testing.T, f *fixture) {
		d, err := f.Domain([]int{3, 1})
		if err != nil {
			t.Fatal(err)
		}
		sig, data := f.window(4), f.window(800)
		out := f.alloc(16)
		for _, r := range []int{1, 3} {
			f.submit(r, f.kernel("ring_shift"), InDomain(d), Int(data), Int(sig), Int(1), Heap(out.Offset))
		}
		f.wait()
		if got := as[int64](out.Data); got[0] != 100*1001 || got[1] != 100*1000 {
			t.Errorf("%v", got)
		}
		if _, err := f.Domain([]int{0, 0}); err == nil {
			t.Error("a device twice in a domain is accepted")
		}
	})
}

func TestArenaGrowsAndShrinks(t *testing.T) {
	everywhere(t, []int{2}, func(t *testing.T, f *fixture) {
		out := f.alloc(8 * int64(f.Ranks()))
		for _, size := range []int64{0, 1, 100, 5 << 20, 64, 40 << 20} {
			f.submitAll(f.kernel("use_arena"), Int(size), Heap(out.Offset))
			f.wait()
			for r, n := range as[int64](out.Data) {
				if n != size {
					t.Errorf("rank %d saw %d of %d bytes", r, n, size)
				}
			}
		}
	})
}

// More commands than the ring holds: Submit waits for room and loses nothing.
func TestARingThatIsFullHoldsTheHostBack(t *testing.T) {
	everywhere(t, []int{2}, func(t *testing.T, f *fixture) {
		x, y := f.alloc(4), f.alloc(4*int64(f.Ranks()))
		as[float32](x.Data)[0] = 1
		k := f.kernel("add")
		args := make([]Arg, 40)
		const n = 5000
		for i := range n {
			for r := range f.Ranks() {
				a := append(args[:0], Heap(x.Offset), Heap(y.Offset+4*int64(r)), Int(1))
				f.submit(r, k, a[:3+i%37]...)
			}
		}
		f.wait()
		for r, v := range as[float32](y.Data) {
			if v != n {
				t.Errorf("rank %d: %v", r, v)
			}
		}
	})
}

func TestMistakesInNamesAreErrorsOfTheHost(t *testing.T) {
	everywhere(t, []int{1}, func(t *testing.T, f *fixture) {
		if _, err := f.Load("/does/not/exist.so"); err == nil {
			t.Error("a missing module is accepted")
		}
		if _, err := f.Kernel(f.mod, "no_such_kernel"); err == nil {
			t.Error("a missing kernel is accepted")
		}
		f.submitAll(f.kernel("empty")) // and they leave no trace
		f.wait()
	})
}

func TestMemoryIsZeroedAndReused(t *testing.T) {
	everywhere(t, []int{2}, func(t *testing.T, f *fixture) {
		a, b := f.alloc(1000), f.alloc(5000)
		for i := range a.Data {
			a.Data[i] = 1
		}
		f.Free(a)
		c := f.alloc(900)
		if c.Offset != a.Offset {
			t.Errorf("freed memory is not used again: %d, %d", a.Offset, c.Offset)
		}
		for i, v := range c.Data {
			if v != 0 {
				t.Fatalf("byte %d is %d", i, v)
			}
		}
		f.Free(b)
		f.Free(c)
		if len(f.heap.free) != 1 {
			t.Errorf("free memory does not join: %v", f.heap.free)
		}
		size := int64(2 << 20)
		if sanitizer == "" {
			size = 65 << 20
		}
		w := f.window(size)
		if w%abi.CacheLine != 0 {
			t.Errorf("window at %d", w)
		}
		for r := range f.Ranks() {
			win := f.Window(r, w, size)
			for i := 0; i < len(win); i += 1000 {
				win[i] = 1
			}
		}
		f.ResetWindows()
		if f.window(size) != w {
			t.Error("windows are not used again")
		}
		for r := range f.Ranks() {
			for i, v := range f.Window(r, w, size) {
				if v != 0 {
					t.Fatalf("rank %d: byte %d is %d", r, i, v)
				}
			}
		}
	})
}

func TestGoroutinesMaySubmitAndWaitAtOnce(t *testing.T) {
	everywhere(t, []int{4}, func(t *testing.T, f *fixture) {
		x, y := f.alloc(4), f.alloc(4*int64(f.Ranks()))
		as[float32](x.Data)[0] = 1
		k := f.kernel("add")
		const each, n = 3, 300
		var wg sync.WaitGroup
		for r := range f.Ranks() {
			for range each {
				wg.Go(func() {
					for i := range n {
						seq, err := f.Submit(r, k, []Arg{Heap(x.Offset), Heap(y.Offset + 4*int64(r)), Int(1)})
						if err == nil && i%50 == 0 {
							err = f.WaitFor(context.Background(), r, seq)
						}
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
		}
		wg.Wait()
		f.wait()
		for r, v := range as[float32](y.Data) {
			if v != each*n {
				t.Errorf("rank %d: %v", r, v)
			}
		}
	})
}
