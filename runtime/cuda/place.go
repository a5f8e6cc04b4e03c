package cuda

import (
	"fmt"
	"strconv"
	"strings"
)

// place gives every rank a GPU: one of its own where there are enough that reach each other's memory, else
// all share the first that can run them. The others are left alone: somebody else may use them.
func (e *Engine) place() error {
	local := e.local()
	devices, err := oneEach(&e.cfg, len(local))
	if devices == nil && err == nil {
		devices, err = firstThatCan(&e.cfg)
	}
	if err != nil {
		return err
	}
	for _, d := range devices {
		e.groups = append(e.groups, &group{dev: d})
	}
	e.home = make([]*group, e.cfg.Ranks)
	for i, r := range local {
		g := e.groups[i%len(devices)]
		g.ranks = append(g.ranks, r)
		e.home[r] = g
	}
	return nil
}

// oneEach opens as many GPUs as there are ranks, if all can run kernels and reach each other's memory; else there
// are none.
func oneEach(cfg *Config, ranks int) ([]Device, error) {
	d := cfg.Driver
	count, err := d.Count()
	if err != nil || ranks < 2 || count < ranks || cfg.together(ranks) != nil {
		return nil, err
	}
	var devices []Device
	for i := range ranks {
		o, err := d.Open(i)
		if err != nil || cfg.suits(o.Info()) != nil {
			closeAll(append(devices, o))
			return nil, nil
		}
		devices = append(devices, o)
	}
	if connect(devices) != nil {
		closeAll(devices)
		return nil, nil
	}
	return devices, nil
}

// First opens the first GPU that can run kernels for "sm_80".
func First(d Driver) (Device, error) {
	devices, err := firstThatCan(&Config{Driver: d})
	if err != nil {
		return nil, err
	}
	return devices[0], nil
}

// together says why ranks cannot have a GPU each, though there are enough: they do not reach each other, or tensors,
// which are then the host's memory, could not be added to.
func (cfg *Config) together(ranks int) error {
	for _, k := range cfg.Kernels {
		for i := 0; i < ranks && k.Adds && ranks > 1; i++ {
			if !cfg.Driver.AddsToHost(i) {
				return fmt.Errorf("kernel %s adds to a tensor, and what several GPUs add to memory of the host at once is lost", k.Name)
			}
		}
	}
	return reachEachOther(cfg.Driver, ranks)
}

// firstThatCan opens the first GPU that can run kernels. Where none can, the first says why.
func firstThatCan(cfg *Config) ([]Device, error) {
	d := cfg.Driver
	count, err := d.Count()
	if err != nil {
		return nil, err
	}
	var why error
	for i := range count {
		o, err := d.Open(i)
		if err == nil {
			if err = cfg.suits(o.Info()); err == nil {
				return []Device{o}, nil
			}
			o.Close()
		}
		if why == nil {
			why = err
		}
	}
	return nil, why
}

// suits says why a GPU cannot run the kernels.
func (cfg *Config) suits(i Info) error {
	switch {
	case i.Major < 8 || !i.CanCooperate:
		return fmt.Errorf("%w: %s has compute capability %d.%d, kernels need 8.0 (Ampere) or later", ErrNoGPU, i.Name, i.Major, i.Minor)
	case !i.takes(cfg.Arch):
		return fmt.Errorf("%w: the kernels were compiled for %s, %s is %s", ErrNoGPU, cfg.Arch, i.Name, i.Arch())
	}
	return nil
}

// takes reports whether a GPU takes PTX for an architecture: one that is as new, or the same one where a letter says that
// the PTX uses what later ones do not have.
func (i Info) takes(arch string) bool {
	number, only := strings.CutSuffix(strings.TrimPrefix(arch, "sm_"), "a")
	n, err := strconv.Atoi(number)
	if err != nil {
		return arch == ""
	}
	if is := 10*i.Major + i.Minor; only {
		return is == n
	} else {
		return is >= n
	}
}

// local are the ranks of this process.
func (e *Engine) local() []int {
	if e.cfg.Share != nil {
		return e.cfg.Share.Local
	}
	all := make([]int, e.cfg.Ranks)
	for r := range all {
		all[r] = r
	}
	return all
}

func closeAll(devices []Device) {
	for _, d := range devices {
		if d != nil {
			d.Close()
		}
	}
}

// connect lets every GPU reach all others.
func connect(devices []Device) error {
	for _, d := range devices {
		for _, o := range devices {
			if d == o {
				continue
			}
			if err := d.EnablePeer(o); err != nil {
				return err
			}
		}
	}
	return nil
}
