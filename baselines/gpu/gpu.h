// CUDA when nvcc compiles, HIP when hipcc does: the two differ in the prefix of their names.
#pragma once

#include "../ironsweep.h"

#include <climits>
#include <initializer_list>

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

// The row of this thread in a launch over a plane or a volume.
__device__ inline size_t row() { return static_cast<size_t>(blockIdx.y) * blockDim.y + threadIdx.y; }

// The column of this thread in a launch over a plane, for a row whose first element has the index `first` in its array; of
// several columns a thread, the first. The warp's store begins where a line of memory does: what is written in part has
// to be read before. A column that lies before the row is a number beyond its end.
template <unsigned COUNT = 1> __device__ inline size_t column(size_t first) {
    constexpr size_t LINE = 128 / sizeof(double);
    return static_cast<size_t>(blockIdx.x) * blockDim.x * COUNT + threadIdx.x - first % LINE;
}

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

// Groups of `size` threads for `items`, one item a thread. More than a grid can have make the launch fail.
inline unsigned groups(size_t items, size_t size) {
    const size_t number = items / size + (items % size != 0);
    return number < UINT_MAX ? static_cast<unsigned>(number) : UINT_MAX;
}

// Enqueues a kernel, unless there is nothing to do.
template <typename... Parameters, typename... Values>
int launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, Values... values) {
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) {
        return IRONSWEEP_OK;
    }
    kernel<<<grid, block, 0, stream>>>(values...);
    return check(GPU(GetLastError)(), GPU_PREFIX "LaunchKernel");
}

// Enqueues a kernel, one thread an item.
template <typename... Parameters, typename... Values>
int launch_items(void (*kernel)(Parameters...), const ironsweep_problem& problem, size_t items, Values... values) {
    return launch(kernel, groups(items, problem.block), static_cast<unsigned>(problem.block), values...);
}

// Enqueues a kernel, one thread COUNT elements of a row of a plane, which column() tells it. A block is 32 columns wide: its
// loads fill cache lines, and its rows share those of their neighbours above and below.
template <unsigned COUNT = 1, typename... Parameters, typename... Values>
int launch_plane(void (*kernel)(Parameters...), const ironsweep_problem& problem, size_t rows, size_t columns,
                 Values... values) {
    constexpr unsigned WIDTH = 32;
    const auto height = static_cast<unsigned>(problem.block / WIDTH);
    // Columns that lie before a row.
    constexpr size_t BEFORE = 128 / sizeof(double) - 1;
    const size_t threads = columns == 0 ? 0 : columns + BEFORE;
    return launch(kernel, dim3(groups(threads, WIDTH * COUNT), groups(rows, height)), dim3(WIDTH, height), values...);
}

// The first failure of several launches, which are enqueued in their order.
inline int all(std::initializer_list<int> statuses) {
    for (const int status : statuses) {
        if (status != IRONSWEEP_OK) {
            return status;
        }
    }
    return IRONSWEEP_OK;
}

} // namespace gpu

// Calls cudaFunction or hipFunction and checks its result.
#define GPU_CALL(function, ...) gpu::check(GPU(function)(__VA_ARGS__), GPU_PREFIX #function)
