;@ ptoc_fail:
; Records why the kernel stops; the first to come wins, but for those who left a meeting: their code, which is above
; 255, holds the place too (abi.LeftMeeting), and whatever kept the others from coming takes its place.
define internal void @ptoc_fail(i8 addrspace(1)* %fault, i32 %code, i32 %site, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f) alwaysinline {
  %some = icmp ne i32 %code, 0
  br i1 %some, label %try, label %done
try:
  %old = call i32 asm sideeffect "atom.relaxed.sys.global.cas.b32 $0, [$1], 0, $2;", "=r,l,r,~{memory}"(i8 addrspace(1)* %fault, i32 %code)
  %first = icmp eq i32 %old, 0
  %weak = icmp ugt i32 %code, 255
  br i1 %weak, label %done, label %strong
strong:
  br i1 %first, label %write, label %other
other:
  %replaces = icmp ugt i32 %old, 255
  br i1 %replaces, label %again, label %done
again:
  %still = call i32 asm sideeffect "atom.relaxed.sys.global.cas.b32 $0, [$1], $2, $3;", "=r,l,r,r,~{memory}"(i8 addrspace(1)* %fault, i32 %old, i32 %code)
  %mine = icmp eq i32 %still, %old
  br i1 %mine, label %write, label %done
write:
  %w = bitcast i8 addrspace(1)* %fault to i32 addrspace(1)*
  %s = getelementptr i32, i32 addrspace(1)* %w, i64 1
  store i32 %site, i32 addrspace(1)* %s
  %q = bitcast i8 addrspace(1)* %fault to i64 addrspace(1)*
  %v0 = getelementptr i64, i64 addrspace(1)* %q, i64 1
  store i64 %a, i64 addrspace(1)* %v0
  %v1 = getelementptr i64, i64 addrspace(1)* %q, i64 2
  store i64 %b, i64 addrspace(1)* %v1
  %v2 = getelementptr i64, i64 addrspace(1)* %q, i64 3
  store i64 %c, i64 addrspace(1)* %v2
  %v3 = getelementptr i64, i64 addrspace(1)* %q, i64 4
  store i64 %d, i64 addrspace(1)* %v3
  %v4 = getelementptr i64, i64 addrspace(1)* %q, i64 5
  store i64 %e, i64 addrspace(1)* %v4
  %v5 = getelementptr i64, i64 addrspace(1)* %q, i64 6
  store i64 %f, i64 addrspace(1)* %v5
  br label %done
done:
  ret void
}

;@ ptoc_wait:
; Waits until the cell compares to want, and acquires what its notifiers released. Only the block's first
; thread calls it. cmp: 0 equal, 1 at least. The result is 0, or the status of a wait that was given up:
; the abort word was set, or the host's pulse did not change for patience (nanoseconds, 0 for ever). The first looks are
; in a row; then the block says what it waits for in the rank's control block, unless another one does, and sleeps a little
; longer each time.
define internal i32 @ptoc_wait(i8 addrspace(1)* %cell, i32 %want, i32 %cmp, i32 %site, i8 addrspace(1)* %abort, i8 addrspace(1)* %self, i64 %patience, i32 %dom, i64 %where) alwaysinline {
entry:
  %start = call i64 asm sideeffect "mov.u64 $0, %globaltimer;", "=l,~{memory}"()
  br label %look
look:
  %n = phi i32 [ 0, %entry ], [ %n1, %again ]
  %nap = phi i32 [ 20, %entry ], [ %nap1, %again ]
  %mine = phi i1 [ false, %entry ], [ %mine1, %again ]
  %from = phi i64 [ %start, %entry ], [ %from1, %again ]
  %beat = phi i32 [ 0, %entry ], [ %beat1, %again ]
  %seen = call i32 asm sideeffect "ld.acquire.sys.global.u32 $0, [$1];", "=r,l,~{memory}"(i8 addrspace(1)* %cell)
  %eq = icmp eq i32 %seen, %want
  %ge = icmp sge i32 %seen, %want
  %isge = icmp eq i32 %cmp, 1
  %ok = select i1 %isge, i1 %ge, i1 %eq
  br i1 %ok, label %reached, label %not
not:
  %n1 = add i32 %n, 1
  %soon = icmp slt i32 %n, 16
  br i1 %soon, label %again0, label %slow
again0:
  br label %again
slow:
  br i1 %mine, label %say, label %claim
claim:
  %word = getelementptr i8, i8 addrspace(1)* %self, i64 WAITING
  %was = call i32 asm sideeffect "atom.relaxed.sys.global.cas.b32 $0, [$1], 0, $2;", "=r,l,r,~{memory}"(i8 addrspace(1)* %word, i32 CLAIMED)
  %free = icmp eq i32 %was, 0
  br i1 %free, label %tell, label %poll
tell:
  call void asm sideeffect "st.relaxed.sys.global.u32 [$0+$1], $2;", "l,n,r,~{memory}"(i8 addrspace(1)* %self, i32 WAIT_SITE, i32 %site)
  call void asm sideeffect "st.relaxed.sys.global.u32 [$0+$1], $2;", "l,n,r,~{memory}"(i8 addrspace(1)* %self, i32 WAIT_DOM, i32 %dom)
  call void asm sideeffect "st.relaxed.sys.global.u32 [$0+$1], $2;", "l,n,r,~{memory}"(i8 addrspace(1)* %self, i32 WAIT_CMP, i32 %cmp)
  call void asm sideeffect "st.relaxed.sys.global.u32 [$0+$1], $2;", "l,n,r,~{memory}"(i8 addrspace(1)* %self, i32 WAIT_WANT, i32 %want)
  call void asm sideeffect "st.relaxed.sys.global.u64 [$0+$1], $2;", "l,n,l,~{memory}"(i8 addrspace(1)* %self, i32 WAIT_CELL, i64 %where)
  call void asm sideeffect "st.relaxed.sys.global.u32 [$0+$1], $2;", "l,n,r,~{memory}"(i8 addrspace(1)* %self, i32 WAITING, i32 1)
  br label %say
say:
  call void asm sideeffect "st.relaxed.sys.global.u32 [$0+$1], $2;", "l,n,r,~{memory}"(i8 addrspace(1)* %self, i32 WAIT_SEEN, i32 %seen)
  br label %poll
poll:
  %told = phi i1 [ true, %say ], [ false, %claim ]
  %stop = call i32 asm sideeffect "ld.relaxed.sys.global.u32 $0, [$1];", "=r,l,~{memory}"(i8 addrspace(1)* %abort)
  %aborted = icmp ne i32 %stop, 0
  br i1 %aborted, label %gave_up, label %clock
clock:
  %now = call i64 asm sideeffect "mov.u64 $0, %globaltimer;", "=l,~{memory}"()
  %past = sub i64 %now, %from
  %tired = icmp sgt i64 %past, %patience
  %mortal = icmp sgt i64 %patience, 0
  %late = and i1 %tired, %mortal
  br i1 %late, label %ask, label %sleep
ask:
  %host = getelementptr i8, i8 addrspace(1)* %abort, i64 PULSE
  %beats = call i32 asm sideeffect "ld.relaxed.sys.global.u32 $0, [$1];", "=r,l,~{memory}"(i8 addrspace(1)* %host)
  %gone = icmp eq i32 %beats, %beat
  br i1 %gone, label %gave_up, label %sleep
sleep:
  %from0 = phi i64 [ %from, %clock ], [ %now, %ask ]
  %beat0 = phi i32 [ %beat, %clock ], [ %beats, %ask ]
  call void asm sideeffect "nanosleep.u32 $0;", "r,~{memory}"(i32 %nap)
  %double = shl i32 %nap, 1
  %long = icmp sgt i32 %double, 2000
  %nap2 = select i1 %long, i32 2000, i32 %double
  br label %again
again:
  %nap1 = phi i32 [ %nap, %again0 ], [ %nap2, %sleep ]
  %mine1 = phi i1 [ %mine, %again0 ], [ %told, %sleep ]
  %from1 = phi i64 [ %from, %again0 ], [ %from0, %sleep ]
  %beat1 = phi i32 [ %beat, %again0 ], [ %beat0, %sleep ]
  br label %look
gave_up:
  %status = phi i32 [ ABORTED, %poll ], [ TIMED_OUT, %ask ]
  br i1 %told, label %leave, label %left
leave:
  call void asm sideeffect "st.relaxed.sys.global.u32 [$0+$1], $2;", "l,n,r,~{memory}"(i8 addrspace(1)* %self, i32 WAITING, i32 2)
  br label %left
left:
  ret i32 %status
reached:
  br i1 %mine, label %done, label %on
done:
  call void asm sideeffect "st.relaxed.sys.global.u32 [$0+$1], $2;", "l,n,r,~{memory}"(i8 addrspace(1)* %self, i32 WAITING, i32 0)
  br label %on
on:
  call void asm sideeffect "red.relaxed.sys.global.add.u64 [$0+$1], $2;", "l,n,l,~{memory}"(i8 addrspace(1)* %self, i32 PROGRESS, i64 1)
  ret i32 0
}

;@ ptoc_meet:
; Lets the blocks of a rank meet: whoever leaves has seen what all did before they came. Only each block's first
; thread calls it. met counts who came, since the kernel began: of n blocks the k-th to come goes on when a
; multiple of n have come that is more than k. The result is 0, or the status of a block that gave up: left, when the
; abort word was set or another block recorded a fault, or that the host's pulse
; did not change for patience (nanoseconds, 0 for ever).
define internal i32 @ptoc_meet(i8 addrspace(1)* %met, i64 %n, i8 addrspace(1)* %abort, i8 addrspace(1)* %fault, i64 %patience, i32 %left) alwaysinline {
entry:
  %only = icmp eq i64 %n, 1
  br i1 %only, label %all, label %come
come:
  %k = call i64 asm sideeffect "atom.acq_rel.gpu.global.add.u64 $0, [$1], 1;", "=l,l,~{memory}"(i8 addrspace(1)* %met)
  %turn = udiv i64 %k, %n
  %next = add i64 %turn, 1
  %goal = mul i64 %next, %n
  %start = call i64 asm sideeffect "mov.u64 $0, %globaltimer;", "=l,~{memory}"()
  br label %look
look:
  %looks = phi i32 [ 0, %come ], [ %looks1, %again ]
  %nap = phi i32 [ 20, %come ], [ %nap1, %again ]
  %from = phi i64 [ %start, %come ], [ %from1, %again ]
  %beat = phi i32 [ 0, %come ], [ %beat1, %again ]
  %here = call i64 asm sideeffect "ld.acquire.gpu.global.u64 $0, [$1];", "=l,l,~{memory}"(i8 addrspace(1)* %met)
  %ok = icmp uge i64 %here, %goal
  br i1 %ok, label %all, label %not
not:
  %looks1 = add i32 %looks, 1
  %soon = icmp slt i32 %looks, 16
  br i1 %soon, label %again, label %poll
poll:
  %stop = call i32 asm sideeffect "ld.relaxed.sys.global.u32 $0, [$1];", "=r,l,~{memory}"(i8 addrspace(1)* %abort)
  %failed = call i32 asm sideeffect "ld.relaxed.sys.global.u32 $0, [$1];", "=r,l,~{memory}"(i8 addrspace(1)* %fault)
  %either = or i32 %stop, %failed
  %aborted = icmp ne i32 %either, 0
  br i1 %aborted, label %gave_up, label %clock
clock:
  %now = call i64 asm sideeffect "mov.u64 $0, %globaltimer;", "=l,~{memory}"()
  %past = sub i64 %now, %from
  %tired = icmp sgt i64 %past, %patience
  %mortal = icmp sgt i64 %patience, 0
  %late = and i1 %tired, %mortal
  br i1 %late, label %ask, label %sleep
ask:
  %host = getelementptr i8, i8 addrspace(1)* %abort, i64 PULSE
  %beats = call i32 asm sideeffect "ld.relaxed.sys.global.u32 $0, [$1];", "=r,l,~{memory}"(i8 addrspace(1)* %host)
  %gone = icmp eq i32 %beats, %beat
  br i1 %gone, label %gave_up, label %sleep
sleep:
  %from0 = phi i64 [ %from, %clock ], [ %now, %ask ]
  %beat0 = phi i32 [ %beat, %clock ], [ %beats, %ask ]
  call void asm sideeffect "nanosleep.u32 $0;", "r,~{memory}"(i32 %nap)
  %double = shl i32 %nap, 1
  %long = icmp sgt i32 %double, 500
  %nap2 = select i1 %long, i32 500, i32 %double
  br label %again
again:
  %nap1 = phi i32 [ %nap, %not ], [ %nap2, %sleep ]
  %from1 = phi i64 [ %from, %not ], [ %from0, %sleep ]
  %beat1 = phi i32 [ %beat, %not ], [ %beat0, %sleep ]
  br label %look
gave_up:
  %status = phi i32 [ %left, %poll ], [ TIMED_OUT, %ask ]
  ret i32 %status
all:
  ret i32 0
}

;@ ptoc_floordiv:
; Python's a // b, and 0 where b is 0: whoever divides has refused that, but sizes of what is never made may hold it.
define internal i64 @ptoc_floordiv(i64 %a, i64 %b) alwaysinline {
  %minus = icmp eq i64 %b, -1
  %zero = icmp eq i64 %b, 0
  %odd = or i1 %minus, %zero
  %d = select i1 %odd, i64 1, i64 %b
  %q = sdiv i64 %a, %d
  %r = srem i64 %a, %d
  %nz = icmp ne i64 %r, 0
  %x = xor i64 %r, %d
  %s = icmp slt i64 %x, 0
  %low = and i1 %nz, %s
  %q1 = sub i64 %q, 1
  %f = select i1 %low, i64 %q1, i64 %q
  %n = sub i64 0, %a
  %g = select i1 %minus, i64 %n, i64 %f
  %res = select i1 %zero, i64 0, i64 %g
  ret i64 %res
}

;@ ptoc_floormod:
; Python's a % b: the sign of b. 0 where b is 0.
define internal i64 @ptoc_floormod(i64 %a, i64 %b) alwaysinline {
  %minus = icmp eq i64 %b, -1
  %zero = icmp eq i64 %b, 0
  %odd = or i1 %minus, %zero
  %d = select i1 %odd, i64 1, i64 %b
  %r = srem i64 %a, %d
  %nz = icmp ne i64 %r, 0
  %x = xor i64 %r, %d
  %s = icmp slt i64 %x, 0
  %low = and i1 %nz, %s
  %r1 = add i64 %r, %d
  %f = select i1 %low, i64 %r1, i64 %r
  %res = select i1 %odd, i64 0, i64 %f
  ret i64 %res
}
