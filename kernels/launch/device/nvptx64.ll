; What Rust has no word for, on NVIDIA GPUs. Linked into every image whose kernel calls it.

target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@ironsweep_tile = internal addrspace(3) global [1024 x double] poison, align 16

define ptr @ironsweep_tile_f64() alwaysinline {
  ret ptr addrspacecast (ptr addrspace(3) @ironsweep_tile to ptr)
}

define void @ironsweep_barrier() alwaysinline convergent {
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}

define void @ironsweep_atomic_add_f64(ptr %pointer, double %value) alwaysinline {
  %global = addrspacecast ptr %pointer to ptr addrspace(1)
  %before = atomicrmw fadd ptr addrspace(1) %global, double %value monotonic
  ret void
}

declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent
