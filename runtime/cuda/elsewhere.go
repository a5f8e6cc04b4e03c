package cuda

import (
	"errors"
	"fmt"
)

// What an engine does for ranks that have processes of their own; see Share.

// ErrStopped is the cause of a cancelled context where ranks elsewhere have failed: Wait then says what the
// ranks here did, as it does of a fault.
var ErrStopped = errors.New("other ranks have failed")

// progress is who judges whether the ranks get on; nil: the engine itself.
func (e *Engine) progress() func(int64) {
	if e.cfg.Share == nil {
		return nil
	}
	return e.cfg.Share.Progress
}

// Adopt lets the GPU reach memory that other processes have too, until Disown. It starts at a page.
func (e *Engine) Adopt(data []byte) (Ptr, error) {
	p, err := e.groups[0].dev.Register(data)
	if err != nil {
		return 0, fmt.Errorf("%d bytes of shared memory: %w", len(data), err)
	}
	return p, nil
}

// Disown ends what Adopt began. Nothing may run.
func (e *Engine) Disown(data []byte) error {
	if e.broken != nil {
		return e.broken
	}
	return e.groups[0].dev.Unregister(data)
}

// TooFewGPUs says that ranks with processes of their own have no GPU each.
type TooFewGPUs struct {
	Ranks, GPUs int
	Why         error // there are enough, but they do not reach each other
}

func (t *TooFewGPUs) Error() string {
	if t.Why != nil {
		return fmt.Sprintf("%d ranks with processes of their own need %d GPUs that work on the same memory: %v", t.Ranks, t.Ranks, t.Why)
	}
	return fmt.Sprintf("%d ranks with processes of their own need %d GPUs, this machine has %d: processes take turns on a GPU, "+
		"so a kernel that waits for another process's would keep it from running", t.Ranks, t.Ranks, t.GPUs)
}

// EnoughGPUs checks that every rank can have a GPU of its own. Without kernels only the GPUs are looked at.
func (cfg *Config) EnoughGPUs() error {
	n, err := cfg.Driver.Count()
	if err != nil {
		return err
	}
	if n < cfg.Ranks {
		return &TooFewGPUs{Ranks: cfg.Ranks, GPUs: n}
	}
	if err := cfg.together(cfg.Ranks); err != nil {
		return &TooFewGPUs{Ranks: cfg.Ranks, GPUs: n, Why: err}
	}
	return nil
}

// reachEachOther asks whether the first n GPUs do, without a context on any.
func reachEachOther(d Driver, n int) error {
	for i := range n {
		for j := range n {
			if i == j {
				continue
			}
			if err := d.Reaches(i, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// Only is a driver with one of d's GPUs.
func Only(d Driver, i int) Driver { return only{d, i} }

type only struct {
	Driver
	i int
}

func (o only) Count() (int, error) {
	n, err := o.Driver.Count()
	return min(n, 1), err
}

func (o only) Open(int) (Device, error) { return o.Driver.Open(o.i) }

func (o only) Reaches(int, int) error { return fmt.Errorf("there is one GPU") }

func (o only) AddsToHost(int) bool { return o.Driver.AddsToHost(o.i) }
