// Algorithm_REDUCE_SUM: sum = sum over i of x[i].
#include "../ironsweep.h"

namespace {

struct Arguments {
    Array<const double> x;
    Array<double> sum;
};

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const double* __restrict__ x = given.x.data;
    const size_t n = problem->size;
    double sum = 0.0;
    // The clause permits another order of additions; without OpenMP the order is that of the elements.
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
    for (size_t i = 0; i < n; ++i) {
        sum += x[i];
    }
    *given.sum.data += sum;
    return IRONSWEEP_OK;
}
