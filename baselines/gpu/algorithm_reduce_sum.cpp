// Algorithm_REDUCE_SUM: sum = sum over i of x[i].
#include "gpu.h"

namespace {

struct Arguments {
    Array<const double> x;
    Array<double> sum;
};

// The sum over a warp, for its first thread. A block smaller than a warp has no threads in the warp's upper lanes.
__device__ double sum_of_warp(double value) {
#pragma unroll
    for (unsigned offset = gpu::warp_size() / 2; offset > 0; offset /= 2) {
        const double other = gpu::shuffle_down(value, offset);
        value += threadIdx.x + offset < blockDim.x ? other : 0.0;
    }
    return value;
}

// The sum over a block, for its first thread.
__device__ double sum_of_block(double value) {
    // One element a warp: a block has at most 1024 threads, a warp at least 32.
    __shared__ double partial[32];
    const unsigned lane = threadIdx.x % gpu::warp_size();
    const unsigned warp = threadIdx.x / gpu::warp_size();
    const unsigned warps = (blockDim.x + gpu::warp_size() - 1) / gpu::warp_size();
    value = sum_of_warp(value);
    if (lane == 0) {
        partial[warp] = value;
    }
    __syncthreads();
    return warp == 0 ? sum_of_warp(lane < warps ? partial[lane] : 0.0) : 0.0;
}

} // namespace

__global__ void reduce_sum(const double* __restrict__ x, double* __restrict__ sum, size_t n) {
    // Loads that a thread has on their way at once: one does not keep the memory busy.
    constexpr size_t LOADS = 4;
    const size_t stride = gpu::threads();
    size_t i = gpu::index();
    double value = 0.0;
    for (; i + (LOADS - 1) * stride < n; i += LOADS * stride) {
        double loaded[LOADS];
#pragma unroll
        for (size_t j = 0; j < LOADS; ++j) {
            loaded[j] = x[i + j * stride];
        }
#pragma unroll
        for (size_t j = 0; j < LOADS; ++j) {
            value += loaded[j];
        }
    }
    for (; i < n; i += stride) {
        value += x[i];
    }
    value = sum_of_block(value);
    if (threadIdx.x == 0) {
        atomicAdd(sum, value);
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const size_t n = problem->size;
    // As many threads as the device holds at once: they stride over the elements, and each block adds to the sum once.
    constexpr size_t THREADS_PER_MULTIPROCESSOR = 2048;
    const size_t threads = problem->multiprocessors * THREADS_PER_MULTIPROCESSOR;
    return gpu::launch_items(reduce_sum, *problem, n < threads ? n : threads, given.x.data, given.sum.data, n);
}
