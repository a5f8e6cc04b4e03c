package native

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"ptoc/codegen/abi"
)

// Module, Kernel and Domain are ids: indices into the shared tables.
type (
	Module int32
	Kernel int32
	Domain int32
)

// tables is the host's view of the shared tables. They only grow, and entries
// are made once: the same module, kernel or domain again gives the same id.
type tables struct {
	mu      sync.Mutex
	modules []string
	kernels []kernelName
	domains [][]int
}

type kernelName struct {
	module Module
	name   string
}

// Load makes the shared object at path known to all ranks.
func (e *Engine) Load(path string) (Module, error) {
	t := &e.tables
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.modules, path); i >= 0 {
		return Module(i), nil
	}
	n := len(t.modules)
	if n == maxModules || len(path) >= len(module{}.Path) {
		return 0, fmt.Errorf("loading %s: too many modules, or too long a path", path)
	}
	row := e.region.module(n)
	*row = module{}
	copy(row.Path[:], path)
	if err := e.publish(n+1, len(t.kernels), len(t.domains)); err != nil {
		return 0, fmt.Errorf("loading %s: %w", path, err)
	}
	t.modules = append(t.modules, path)
	return Module(n), nil
}

// Kernel returns the id of a function of m.
func (e *Engine) Kernel(m Module, name string) (Kernel, error) {
	t := &e.tables
	t.mu.Lock()
	defer t.mu.Unlock()
	want := kernelName{m, name}
	if i := slices.Index(t.kernels, want); i >= 0 {
		return Kernel(i), nil
	}
	n := len(t.kernels)
	if n == maxKernels || len(name) >= len(kernel{}.Name) || int(m) >= len(t.modules) {
		return 0, fmt.Errorf("kernel %s: no such module, too many kernels, or too long a name", name)
	}
	row := e.region.kernel(n)
	*row = kernel{Module: int32(m)}
	copy(row.Name[:], name)
	if err := e.publish(len(t.modules), n+1, len(t.domains)); err != nil {
		return 0, fmt.Errorf("kernel %s: %w", name, err)
	}
	t.kernels = append(t.kernels, want)
	return Kernel(n), nil
}

// KernelName returns the name of k.
func (e *Engine) KernelName(k Kernel) string {
	e.tables.mu.Lock()
	defer e.tables.mu.Unlock()
	if k < 0 || int(k) >= len(e.tables.kernels) {
		return ""
	}
	return e.tables.kernels[k].name
}

// Domain returns the id of an ordered set of devices that share windows.
func (e *Engine) Domain(devices []int) (Domain, error) {
	t := &e.tables
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, d := range t.domains {
		if slices.Equal(d, devices) {
			return Domain(i), nil
		}
	}
	n := len(t.domains)
	if n == maxDomains {
		return 0, fmt.Errorf("more than %d domains", maxDomains)
	}
	row := e.region.domain(n)
	*row = domain{N: int32(len(devices))}
	seen := [abi.MaxRanks]bool{}
	for i, d := range devices {
		if d < 0 || d >= e.cfg.Ranks || seen[d] {
			return 0, fmt.Errorf("domain %v: devices must differ and be below %d", devices, e.cfg.Ranks)
		}
		seen[d] = true
		row.Devices[i] = int32(d)
	}
	if err := e.publish(len(t.modules), len(t.kernels), n+1); err != nil {
		return 0, err
	}
	t.domains = append(t.domains, slices.Clone(devices))
	return Domain(n), nil
}

// DomainDevices returns the devices of d.
func (e *Engine) DomainDevices(d Domain) []int {
	e.tables.mu.Lock()
	defer e.tables.mu.Unlock()
	if d < 0 || int(d) >= len(e.tables.domains) {
		return nil
	}
	return e.tables.domains[d]
}

// publish resolves new rows in this process, so that a mistake is an error here
// and now, and then shows them to the ranks. Ranks that are threads find them
// resolved; processes resolve them when a command first needs it.
func (e *Engine) publish(modules, kernels, domains int) error {
	if err := e.lib.sync(e.proc, int32(modules), int32(kernels), int32(domains)); err != nil {
		return err
	}
	ctl := e.region.control()
	atomic.StoreInt32(&ctl.Modules, int32(modules))
	atomic.StoreInt32(&ctl.Kernels, int32(kernels))
	atomic.StoreInt32(&ctl.Domains, int32(domains))
	return nil
}
