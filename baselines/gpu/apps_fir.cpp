// Apps_FIR: a finite impulse response filter, out[i] = sum over j < 16 of coefficient[j] * input[i + j].
#include "gpu.h"

namespace {

struct Arguments {
    Array<const double> input;
    Array<double> out;
};

} // namespace

__global__ void fir(const double* __restrict__ input, double* __restrict__ out, size_t n) {
    // Known when the kernel is compiled, so that the unrolled loop holds them in its instructions.
    constexpr int TAPS = 16;
    constexpr double COEFFICIENTS[TAPS] = {3.0,  -1.0, -1.0, -1.0, -1.0, 3.0,  -1.0, -1.0,
                                           -1.0, -1.0, 3.0,  -1.0, -1.0, -1.0, -1.0, 3.0};
    const size_t i = gpu::index();
    if (i < n) {
        double sum = 0.0;
#pragma unroll
        for (int j = 0; j < TAPS; ++j) {
            sum += COEFFICIENTS[j] * input[i + j];
        }
        out[i] = sum;
    }
}

int ironsweep_launch(const void* arguments, const ironsweep_dimensions* dimensions) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    return gpu::launch(fir, *dimensions, given.input.data, given.out.data, dimensions->items);
}
