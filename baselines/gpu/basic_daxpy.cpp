// Basic_DAXPY: y[i] += a * x[i].
#include "gpu.h"

namespace {

struct Arguments {
    Array<double> y;
    Array<const double> x;
    double a;
};

} // namespace

__global__ void daxpy(double* __restrict__ y, const double* __restrict__ x, double a, size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        y[i] += a * x[i];
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    return gpu::launch_items(daxpy, *problem, problem->size, given.y.data, given.x.data, given.a, problem->size);
}
