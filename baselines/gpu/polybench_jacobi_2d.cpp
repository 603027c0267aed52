// Polybench_JACOBI_2D: two steps of Jacobi's method: each inner element becomes the mean of itself and its four
// neighbours.
#include "../extents.h"
#include "gpu.h"

namespace {

struct Arguments {
    Array<double> a;
    Array<double> b;
};

} // namespace

// Elements that a thread computes, a block's width apart: with one the first-level cache is the limit, which is asked for
// fewer elements at once. All are loaded before the first is stored.
constexpr unsigned COUNT = 4;

// `n` includes the border of one element on each side.
__global__ void jacobi_2d(double* __restrict__ to, const double* __restrict__ from, size_t n) {
    const size_t first = (1 + gpu::row()) * n + 1;
    const size_t column = gpu::column<COUNT>(first);
    const size_t step = blockDim.x, inner = n - 2;
    const auto mean = [=](size_t i) { return 0.2 * (from[i] + from[i - 1] + from[i + 1] + from[i + n] + from[i - n]); };
    if (gpu::row() >= inner) {
        return;
    }
    if (column < inner && column + (COUNT - 1) * step < inner) {
        double means[COUNT];
#pragma unroll
        for (unsigned j = 0; j < COUNT; ++j) {
            means[j] = mean(first + column + j * step);
        }
#pragma unroll
        for (unsigned j = 0; j < COUNT; ++j) {
            to[first + column + j * step] = means[j];
        }
    } else {
        for (unsigned j = 0; j < COUNT; ++j) {
            // The first may lie before the row, and thereby beyond its end.
            const size_t other = column + j * step;
            if (other < inner) {
                to[first + other] = mean(first + other);
            }
        }
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const size_t inner = extents::square(problem->size);
    const size_t n = inner + 2;
    return gpu::all({
        gpu::launch_plane<COUNT>(jacobi_2d, *problem, inner, inner, given.b.data, given.a.data, n),
        gpu::launch_plane<COUNT>(jacobi_2d, *problem, inner, inner, given.a.data, given.b.data, n),
    });
}
