package ptxsim

import "strings"

// Special registers. Those that change are read by mov only; the others are constants of a frame.

var changing = map[string]bool{"%clock": true, "%clock64": true, "%globaltimer": true, "%globaltimer_lo": true}

var fixedSpecial = map[string]func(t *thread) uint64{
	"%laneid":  func(t *thread) uint64 { return uint64(t.lane()) },
	"%warpid":  func(t *thread) uint64 { return uint64(t.index / 32) },
	"%nwarpid": func(t *thread) uint64 { return uint64(len(t.block.warps)) },
	"%smid":    func(t *thread) uint64 { return 0 },
	"%nsmid":   func(t *thread) uint64 { return 1 },
	"WARP_SZ":  func(t *thread) uint64 { return 32 },
	"_":        func(t *thread) uint64 { return 0 },

	"%lanemask_eq": func(t *thread) uint64 { return 1 << t.lane() },
	"%lanemask_lt": func(t *thread) uint64 { return 1<<t.lane() - 1 },
	"%lanemask_le": func(t *thread) uint64 { return 2<<t.lane() - 1 },
	"%lanemask_gt": func(t *thread) uint64 { return uint64(uint32(^(2<<t.lane() - 1))) },
	"%lanemask_ge": func(t *thread) uint64 { return uint64(uint32(^(1<<t.lane() - 1))) },

	"%dynamic_smem_size": func(t *thread) uint64 { return uint64(t.block.dynSize) },
	"%total_smem_size":   func(t *thread) uint64 { return uint64(len(t.block.shared) - sharedStart) },
}

// isSpecial reports whether name is a special register.
func isSpecial(name string) bool {
	if _, ok := fixedSpecial[name]; ok || changing[name] {
		return true
	}
	base, axis, ok := strings.Cut(name, ".")
	switch base {
	case "%tid", "%ntid", "%ctaid", "%nctaid":
		return ok && (axis == "x" || axis == "y" || axis == "z")
	}
	return false
}

// special is the value of a special register.
func (t *thread) special(name string) uint64 {
	if f, ok := fixedSpecial[name]; ok {
		return f(t)
	}
	if changing[name] {
		return uint64(t.block.run.steps * t.block.run.clockStep)
	}
	base, axis, _ := strings.Cut(name, ".")
	i := int(axis[0] - 'x')
	switch base {
	case "%tid":
		return uint64(t.at[i])
	case "%ntid":
		return uint64(t.block.dim[i])
	case "%ctaid":
		return uint64(t.block.at[i])
	}
	return uint64(t.block.grid[i])
}
