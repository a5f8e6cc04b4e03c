package controller

import (
	"fmt"

	"ptoc/ir"
	"ptoc/lang/diag"
	"ptoc/lang/source"
)

// memory is a host function's tensor or window: a rectangle of a buffer.
type memory struct {
	buf     Buffer
	dt      ir.DType
	off     int64 // bytes
	shape   []int64
	strides []int64 // bytes

	window bool
	domain int
}

// window buffers, before they are viewed.
type windowBuffer struct {
	offset, bytes int64
	domain        int
}

func newMemory(buf Buffer, dt ir.DType, shape []int64) *memory {
	return &memory{buf: buf, dt: dt, shape: shape, strides: rowMajor(shape, int64(dt.Size()))}
}

func rowMajor(shape []int64, size int64) []int64 {
	out := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = size
		size *= shape[i]
	}
	return out
}

func numel(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// contiguous reports whether the elements follow each other in memory.
func (m *memory) contiguous() bool {
	run := int64(m.dt.Size())
	for i := len(m.shape) - 1; i >= 0; i-- {
		if m.shape[i] == 0 {
			return true
		}
		if m.shape[i] != 1 && m.strides[i] != run {
			return false
		}
		run *= m.shape[i]
	}
	return true
}

// overlaps reports whether two memories, each without gaps, share bytes on one rank.
func (m *memory) overlaps(o *memory) bool {
	x, y := m.off, o.off
	switch {
	case m.window != o.window:
		return false
	case !m.window:
		x, y = x+m.buf.Addr, y+o.buf.Addr
	}
	nx, ny := numel(m.shape)*int64(m.dt.Size()), numel(o.shape)*int64(o.dt.Size())
	return nx > 0 && ny > 0 && x < y+ny && y < x+nx
}

// hostError is a mistake of the host program that shows when it runs.
type hostError struct {
	code diag.Code
	at   source.Span
	text string
	help string
	why  error // what the backend refused, if that is it
}

func (e *hostError) Error() string { return fmt.Sprintf("%s: %s", e.at, e.text) }
func (e *hostError) Unwrap() error { return e.why }

func errorAt(op *ir.Op, format string, args ...any) *hostError {
	e := &hostError{code: diag.HostFault, at: op.Span, text: fmt.Sprintf(format, args...)}
	for _, a := range args {
		if err, ok := a.(error); ok {
			e.why = err
		}
	}
	return e
}
