package tensor

import "golang.org/x/sys/unix"

// Room reports whether the system has so many bytes for us. Go ends the process where it has not, so large pieces are
// asked for first. What is there may be more than what can be filled.
func Room(bytes int64) bool {
	const small = 1 << 28
	if bytes < small {
		return true
	}
	b, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return false
	}
	return unix.Munmap(b) == nil
}
