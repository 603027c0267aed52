; What Rust has no word for, on AMD GPUs. Linked into every image whose kernel calls it.

target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

@ironsweep_tile_256 = internal addrspace(3) global [256 x double] poison, align 16
@ironsweep_tile_1024 = internal addrspace(3) global [1024 x double] poison, align 16

define ptr @ironsweep_tile_256_f64() alwaysinline {
  ret ptr addrspacecast (ptr addrspace(3) @ironsweep_tile_256 to ptr)
}

define ptr @ironsweep_tile_1024_f64() alwaysinline {
  ret ptr addrspacecast (ptr addrspace(3) @ironsweep_tile_1024 to ptr)
}

define i64 @ironsweep_lanes() alwaysinline {
  ret i64 64
}

; The permutation reads from the lane that bytes 4 * lane name; beyond the last it wraps around, and the own value is
; taken instead.
define double @ironsweep_shuffle_down_f64(double %value, i32 %distance) alwaysinline convergent {
  %low.lanes = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low.lanes)
  %wanted = add i32 %lane, %distance
  %there = icmp ult i32 %wanted, 64
  %source = select i1 %there, i32 %wanted, i32 %lane
  %address = shl i32 %source, 2
  %halves = bitcast double %value to <2 x i32>
  %low = extractelement <2 x i32> %halves, i64 0
  %high = extractelement <2 x i32> %halves, i64 1
  %low.moved = call i32 @llvm.amdgcn.ds.bpermute(i32 %address, i32 %low)
  %high.moved = call i32 @llvm.amdgcn.ds.bpermute(i32 %address, i32 %high)
  %first = insertelement <2 x i32> poison, i32 %low.moved, i64 0
  %both = insertelement <2 x i32> %first, i32 %high.moved, i64 1
  %moved = bitcast <2 x i32> %both to double
  ret double %moved
}

; The bare barrier orders no memory: the fences do.
define void @ironsweep_barrier() alwaysinline convergent {
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  ret void
}

; The metadata promise device memory of this GPU, without which the hardware's own floating-point atomic is not used.
define void @ironsweep_atomic_add_f64(ptr %pointer, double %value) alwaysinline {
  %global = addrspacecast ptr %pointer to ptr addrspace(1)
  %before = atomicrmw fadd ptr addrspace(1) %global, double %value syncscope("agent") monotonic, !amdgpu.no.fine.grained.memory !0, !amdgpu.no.remote.memory !0
  ret void
}

declare void @llvm.amdgcn.s.barrier() convergent
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32) convergent

!0 = !{}
