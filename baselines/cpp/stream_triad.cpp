// Stream_TRIAD: a[i] = b[i] + alpha * c[i].
#include "../ironsweep.h"

namespace {

struct Arguments {
    Array<double> a;
    Array<const double> b;
    Array<const double> c;
    double alpha;
};

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    double* __restrict__ a = given.a.data;
    const double* __restrict__ b = given.b.data;
    const double* __restrict__ c = given.c.data;
    const double alpha = given.alpha;
    const size_t n = problem->size;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; ++i) {
        a[i] = b[i] + alpha * c[i];
    }
    return IRONSWEEP_OK;
}
