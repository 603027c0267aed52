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

// `n` includes the border of one element on each side.
__global__ void jacobi_2d(double* __restrict__ to, const double* __restrict__ from, size_t n) {
    const size_t row = 1 + gpu::row();
    const size_t column = 1 + gpu::index();
    if (row < n - 1 && column < n - 1) {
        const size_t i = row * n + column;
        to[i] = 0.2 * (from[i] + from[i - 1] + from[i + 1] + from[i + n] + from[i - n]);
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const size_t inner = extents::square(problem->size);
    const size_t n = inner + 2;
    return gpu::all({
        gpu::launch_plane(jacobi_2d, *problem, inner, inner, given.b.data, given.a.data, n),
        gpu::launch_plane(jacobi_2d, *problem, inner, inner, given.a.data, given.b.data, n),
    });
}
