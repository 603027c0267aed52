; What Rust has no word for, on NVIDIA GPUs. Linked into every image whose kernel calls it.

target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@ironsweep_tile_256 = internal addrspace(3) global [256 x double] poison, align 16
@ironsweep_tile_1024 = internal addrspace(3) global [1024 x double] poison, align 16

define ptr @ironsweep_tile_256_f64() alwaysinline {
  ret ptr addrspacecast (ptr addrspace(3) @ironsweep_tile_256 to ptr)
}

define ptr @ironsweep_tile_1024_f64() alwaysinline {
  ret ptr addrspacecast (ptr addrspace(3) @ironsweep_tile_1024 to ptr)
}

define void @ironsweep_barrier() alwaysinline convergent {
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}

define i64 @ironsweep_lanes() alwaysinline {
  ret i64 32
}

define double @ironsweep_shuffle_down_f64(double %value, i32 %distance) alwaysinline convergent {
  %halves = bitcast double %value to <2 x i32>
  %low = extractelement <2 x i32> %halves, i64 0
  %high = extractelement <2 x i32> %halves, i64 1
  %low.moved = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %low, i32 %distance, i32 31)
  %high.moved = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %high, i32 %distance, i32 31)
  %first = insertelement <2 x i32> poison, i32 %low.moved, i64 0
  %both = insertelement <2 x i32> %first, i32 %high.moved, i64 1
  %moved = bitcast <2 x i32> %both to double
  ret double %moved
}

define void @ironsweep_atomic_add_f64(ptr %pointer, double %value) alwaysinline {
  %global = addrspacecast ptr %pointer to ptr addrspace(1)
  %before = atomicrmw fadd ptr addrspace(1) %global, double %value monotonic
  ret void
}

declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32) convergent
