// Lcals_PLANCKIAN: Planck's distribution, y[i] = u[i] / v[i]; w[i] = x[i] / (exp(y[i]) - 1).
#include "gpu.h"

namespace {

struct Arguments {
    Array<const double> x;
    Array<double> y;
    Array<const double> u;
    Array<const double> v;
    Array<double> w;
};

} // namespace

__global__ void planckian(const double* __restrict__ x, double* __restrict__ y, const double* __restrict__ u,
                          const double* __restrict__ v, double* __restrict__ w, size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        const double ratio = u[i] / v[i];
        y[i] = ratio;
        w[i] = x[i] / (exp(ratio) - 1.0);
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    return gpu::launch_items(planckian, *problem, problem->size, given.x.data, given.y.data, given.u.data, given.v.data,
                             given.w.data, problem->size);
}
