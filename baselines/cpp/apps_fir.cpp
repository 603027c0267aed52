// Apps_FIR: a finite impulse response filter, out[i] = sum over j < 16 of coefficient[j] * input[i + j].
#include "../ironsweep.h"

namespace {

constexpr size_t TAPS = 16;
constexpr double COEFFICIENTS[TAPS] = {3.0,  -1.0, -1.0, -1.0, -1.0, 3.0,  -1.0, -1.0,
                                       -1.0, -1.0, 3.0,  -1.0, -1.0, -1.0, -1.0, 3.0};

struct Arguments {
    Array<const double> input;
    Array<double> out;
};

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const double* __restrict__ input = given.input.data;
    double* __restrict__ out = given.out.data;
    const size_t n = problem->size;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; ++i) {
        double sum = 0.0;
        for (size_t j = 0; j < TAPS; ++j) {
            sum += COEFFICIENTS[j] * input[i + j];
        }
        out[i] = sum;
    }
    return IRONSWEEP_OK;
}
