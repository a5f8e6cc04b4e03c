// Package sharedlib opens shared libraries, without cgo.
package sharedlib

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// Open opens a library for this process alone. The reason of an error is asked for in a second call, and is the
// thread's that made the first: a goroutine that moved to another thread in between would get none, or another's.
func Open(path string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}
