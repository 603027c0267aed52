// Stream_COPY: c[i] = a[i].
#include "../ironsweep.h"

namespace {

struct Arguments {
    Array<const double> a;
    Array<double> c;
};

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const double* __restrict__ a = given.a.data;
    double* __restrict__ c = given.c.data;
    const size_t n = problem->size;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; ++i) {
        c[i] = a[i];
    }
    return IRONSWEEP_OK;
}
