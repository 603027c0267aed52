// Polybench_JACOBI_2D: two steps of Jacobi's method: each inner element becomes the mean of itself and its four
// neighbours.
#include "../extents.h"
#include "../ironsweep.h"

namespace {

struct Arguments {
    Array<double> a;
    Array<double> b;
};

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    double* __restrict__ a = given.a.data;
    double* __restrict__ b = given.b.data;
    // With a border of one element on each side.
    const size_t n = extents::square(problem->size) + 2;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t k = 1; k < n - 1; ++k) {
#pragma clang loop vectorize(assume_safety)
            for (size_t i = k * n + 1; i < (k + 1) * n - 1; ++i) {
                b[i] = 0.2 * (a[i] + a[i - 1] + a[i + 1] + a[i + n] + a[i - n]);
            }
        }
#pragma omp for schedule(static) nowait
        for (size_t k = 1; k < n - 1; ++k) {
#pragma clang loop vectorize(assume_safety)
            for (size_t i = k * n + 1; i < (k + 1) * n - 1; ++i) {
                a[i] = 0.2 * (b[i] + b[i - 1] + b[i + 1] + b[i + n] + b[i - n]);
            }
        }
    }
    return IRONSWEEP_OK;
}
