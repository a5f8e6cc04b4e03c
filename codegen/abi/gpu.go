package abi

import "reflect"

// What a kernel on a GPU is launched with: one GPULaunch for each rank that runs on the device, in an
// array whose address is the kernel's only parameter; a block takes the one of its %ctaid.y. The rank's blocks,
// by %ctaid.x, share it. Args are the same slots as on the CPU, Domain, RankCtl and Fault the same structs,
// with device addresses.

// GPULaunch is one rank's part of a launch.
type GPULaunch struct {
	Ctx  uintptr // GPUCtx*
	Args uintptr // const i64*
}

// GPUCtx is what a kernel on a GPU knows beside its arguments.
type GPUCtx struct {
	Device     int32
	NDevices   int32
	Arena      uintptr // scratch in global memory, for kernels that need more than a block's shared memory
	ArenaBytes int64   // of one block: those of the next one follow
	Abort      uintptr // i32: not 0 when waits shall give up; Pulse bytes behind it the host's pulse
	Fault      uintptr // Fault*
	Self       uintptr // RankCtl*
	Patience   int64   // nanoseconds that a wait may last without a pulse; 0: for ever
	Common     uintptr // scratch in global memory of all blocks of the rank
	Met        uint64  // how often a block came to a meeting of all: 0 when the kernel starts
}

// Pulse is how far behind the abort word the host's pulse is, a u32 that changes from time to time as long as the host
// is there and judges whether the ranks hang.
const Pulse = 8

// LeftMeeting is the code in the Fault of a rank where a block left a meeting that another one did not come to: it is
// Aborted, and holds the site too. Whatever keeps the other block away takes its place, and must find no numbers
// of ours there.
func LeftMeeting(site int) Code { return Aborted | Code(site+1)<<8 }

// Settle makes a plain fault of one of a block that left a meeting.
func (f *Fault) Settle() {
	if f.Code > 0xff {
		f.Code, f.Site, f.V = f.Code&0xff, int32(f.Code>>8)-1, [6]int64{}
	}
}

// Offset is the byte offset of a field of one of this package's structs.
func Offset[T any](field string) int64 {
	f, ok := reflect.TypeFor[T]().FieldByName(field)
	if !ok {
		panic("abi: no field " + field)
	}
	return int64(f.Offset)
}
