// Lcals_PLANCKIAN: Planck's distribution, y[i] = u[i] / v[i]; w[i] = x[i] / (exp(y[i]) - 1).
#include "../ironsweep.h"

#include <cmath>

namespace {

struct Arguments {
    Array<const double> x;
    Array<double> y;
    Array<const double> u;
    Array<const double> v;
    Array<double> w;
};

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const double* __restrict__ x = given.x.data;
    double* __restrict__ y = given.y.data;
    const double* __restrict__ u = given.u.data;
    const double* __restrict__ v = given.v.data;
    double* __restrict__ w = given.w.data;
    const size_t n = problem->size;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; ++i) {
        const double ratio = u[i] / v[i];
        y[i] = ratio;
        w[i] = x[i] / (std::exp(ratio) - 1.0);
    }
    return IRONSWEEP_OK;
}
