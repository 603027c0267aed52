// Planted_OFF_BY_ONE: Stream_TRIAD with a mistake. Every run contains it, and must find its result wrong.
#include "gpu.h"

namespace {

struct Arguments {
    Array<double> a;
    Array<const double> b;
    Array<const double> c;
    double alpha;
};

} // namespace

__global__ void off_by_one(double* __restrict__ a, const double* __restrict__ b, const double* __restrict__ c,
                           double alpha, size_t last, size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        const size_t neighbour = i < last ? i + 1 : last;
        a[i] = b[neighbour] + alpha * c[i];
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    return gpu::launch_items(off_by_one, *problem, problem->size, given.a.data, given.b.data, given.c.data, given.alpha,
                             given.b.length - 1, problem->size);
}
