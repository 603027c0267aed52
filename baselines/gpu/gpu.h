// CUDA when nvcc compiles, HIP when hipcc does: the two differ in the prefix of their names.
#pragma once

#include "../ironsweep.h"

#ifdef __HIP__
#include <hip/hip_runtime.h>
#define GPU(name) hip##name
#define GPU_PREFIX "hip"
#define GPU_OUT_OF_MEMORY hipErrorOutOfMemory
#else
#include <cuda_runtime.h>
#define GPU(name) cuda##name
#define GPU_PREFIX "cuda"
#define GPU_OUT_OF_MEMORY cudaErrorMemoryAllocation
#endif

namespace gpu {

using Error = GPU(Error_t);
using Stream = GPU(Stream_t);

// All work of this process is enqueued here.
extern Stream stream;

// The ironsweep_status of an API call's result; a failure's text goes to ironsweep_error().
int check(Error result, const char* function);

// The index of this thread in the launch.
__device__ inline size_t index() { return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

// The number of threads in the launch.
__device__ inline size_t threads() { return static_cast<size_t>(gridDim.x) * blockDim.x; }

// Threads in a warp (AMD: wave); known when the kernel is compiled.
__device__ inline unsigned warp_size() {
#ifdef __HIP__
    return warpSize;
#else
    return 32;
#endif
}

// The value of the thread `offset` lanes on in the same warp (AMD: wave). All threads of the warp call it.
__device__ inline double shuffle_down(double value, unsigned offset) {
#ifdef __HIP__
    return __shfl_down(value, offset);
#else
    return __shfl_down_sync(0xffffffff, value, offset);
#endif
}

// Enqueues a kernel.
template <typename... Parameters, typename... Values>
int launch(void (*kernel)(Parameters...), const ironsweep_dimensions& dimensions, Values... values) {
    kernel<<<static_cast<unsigned>(dimensions.grid), static_cast<unsigned>(dimensions.block), 0, stream>>>(values...);
    return check(GPU(GetLastError)(), GPU_PREFIX "LaunchKernel");
}

} // namespace gpu

// Calls cudaFunction or hipFunction and checks its result.
#define GPU_CALL(function, ...) gpu::check(GPU(function)(__VA_ARGS__), GPU_PREFIX #function)
