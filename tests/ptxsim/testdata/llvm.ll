; Compiled by llc to llvm.ptx: what the NVPTX backend emits for calls, local memory, vectors, demoted
; shared variables, tables and inline assembly.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
declare float @llvm.sqrt.f32(float)
declare float @llvm.maxnum.f32(float, float)
declare i32 @llvm.ctpop.i32(i32)

@sh = internal addrspace(3) global [128 x float] undef, align 16
@table = internal addrspace(1) constant [4 x i64] [i64 10, i64 20, i64 30, i64 40], align 8

define { float, i64 } @helper(float %a, half %h, i64 %k, i1 %p, i16 %x, <2 x float> %v) noinline {
  %b = fmul float %a, %a
  %d = fpext half %h to float
  %c = fadd float %b, %d
  %q = sitofp i64 %k to float
  %z = select i1 %p, float %q, float %c
  %w = uitofp i16 %x to float
  %y = fadd float %z, %w
  %v0 = extractelement <2 x float> %v, i32 0
  %v1 = extractelement <2 x float> %v, i32 1
  %vd = fsub float %v1, %v0
  %yy = fadd float %y, %vd
  %r0 = insertvalue { float, i64 } undef, float %yy, 0
  %kk = mul i64 %k, 3
  %r1 = insertvalue { float, i64 } %r0, i64 %kk, 1
  ret { float, i64 } %r1
}

define i32 @choose(i32 %n) noinline {
  switch i32 %n, label %other [
    i32 0, label %a
    i32 1, label %b
    i32 2, label %c
    i32 3, label %d
    i32 4, label %e
  ]
a:
  ret i32 100
b:
  ret i32 7
c:
  ret i32 -3
d:
  ret i32 12
e:
  ret i32 99
other:
  ret i32 1
}

define void @k(i32* %out, float* %data, i8 %b, i32 %n, half %h) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %te = sext i32 %t to i64
  %fv = sitofp i32 %t to float
  %s = getelementptr [128 x float], [128 x float] addrspace(3)* @sh, i32 0, i32 %t
  store float %fv, float addrspace(3)* %s
  call void @llvm.nvvm.barrier0()
  %x = xor i32 %t, 1
  %s2 = getelementptr [128 x float], [128 x float] addrspace(3)* @sh, i32 0, i32 %x
  %l = load float, float addrspace(3)* %s2
  %odd = trunc i32 %t to i1
  %vec0 = insertelement <2 x float> undef, float %l, i32 0
  %vec = insertelement <2 x float> %vec0, float 5.0, i32 1
  %r = call { float, i64 } @helper(float %l, half %h, i64 %te, i1 %odd, i16 7, <2 x float> %vec)
  %rf = extractvalue { float, i64 } %r, 0
  %rk = extractvalue { float, i64 } %r, 1
  ; a vector of global memory, with an element picked through local memory
  %dp = getelementptr float, float* %data, i64 0
  %v4p = bitcast float* %dp to <4 x float>*
  %v4 = load <4 x float>, <4 x float>* %v4p, align 16
  %m3 = and i32 %t, 3
  %a = alloca [4 x i32]
  %a0 = getelementptr [4 x i32], [4 x i32]* %a, i32 0, i32 0
  %a1 = getelementptr [4 x i32], [4 x i32]* %a, i32 0, i32 1
  %a2 = getelementptr [4 x i32], [4 x i32]* %a, i32 0, i32 2
  %a3 = getelementptr [4 x i32], [4 x i32]* %a, i32 0, i32 3
  store volatile i32 %t, i32* %a0
  store volatile i32 %n, i32* %a1
  store volatile i32 3, i32* %a2
  store volatile i32 4, i32* %a3
  %ap = getelementptr [4 x i32], [4 x i32]* %a, i32 0, i32 %m3
  %av = load volatile i32, i32* %ap
  %ex = extractelement <4 x float> %v4, i32 %m3
  %tp = getelementptr [4 x i64], [4 x i64] addrspace(1)* @table, i32 0, i32 %m3
  %tv = load i64, i64 addrspace(1)* %tp
  %ch = call i32 @choose(i32 %m3)
  %i1 = fptosi float %rf to i32
  %i2 = trunc i64 %rk to i32
  %i3 = fptosi float %ex to i32
  %i4 = trunc i64 %tv to i32
  %bz = zext i8 %b to i32
  %s1 = add i32 %i1, %i2
  %s3 = add i32 %s1, %i3
  %s4 = add i32 %s3, %i4
  %s5 = add i32 %s4, %ch
  %s6 = add i32 %s5, %av
  %s7 = add i32 %s6, %bz
  %op = getelementptr i32, i32* %out, i64 %te
  store i32 %s7, i32* %op
  %sum = getelementptr i32, i32* %out, i64 64
  call void asm sideeffect "red.release.sys.global.add.s32 [$0], $1;", "l,r,~{memory}"(i32* %sum, i32 %t)
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{void (i32*, float*, i8, i32, half)* @k, !"kernel", i32 1}
