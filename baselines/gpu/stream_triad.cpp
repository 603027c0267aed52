// Stream_TRIAD: a[i] = b[i] + alpha * c[i].
#include "gpu.h"

namespace {

struct Arguments {
    Array<double> a;
    Array<const double> b;
    Array<const double> c;
    double alpha;
};

} // namespace

__global__ void triad(double* __restrict__ a, const double* __restrict__ b, const double* __restrict__ c, double alpha,
                      size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        a[i] = b[i] + alpha * c[i];
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    return gpu::launch_items(triad, *problem, problem->size, given.a.data, given.b.data, given.c.data, given.alpha,
                             problem->size);
}
