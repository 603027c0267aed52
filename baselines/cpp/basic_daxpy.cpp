// Basic_DAXPY: y[i] += a * x[i].
#include "../ironsweep.h"

namespace {

struct Arguments {
    Array<double> y;
    Array<const double> x;
    double a;
};

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    double* __restrict__ y = given.y.data;
    const double* __restrict__ x = given.x.data;
    const double a = given.a;
    const size_t n = problem->size;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; ++i) {
        y[i] += a * x[i];
    }
    return IRONSWEEP_OK;
}
