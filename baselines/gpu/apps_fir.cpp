// Apps_FIR: a finite impulse response filter, out[i] = sum over j < 16 of coefficient[j] * input[i + j].
#include "gpu.h"

namespace {

struct Arguments {
    Array<const double> input;
    Array<double> out;
};

constexpr int TAPS = 16;

// One element from its inputs. The coefficients are known when the kernel is compiled: the unrolled loop holds them in
// its instructions.
__device__ inline double filter(const double* __restrict__ input) {
    constexpr double COEFFICIENTS[TAPS] = {3.0,  -1.0, -1.0, -1.0, -1.0, 3.0,  -1.0, -1.0,
                                           -1.0, -1.0, 3.0,  -1.0, -1.0, -1.0, -1.0, 3.0};
    double sum = 0.0;
#pragma unroll
    for (int j = 0; j < TAPS; ++j) {
        sum += COEFFICIENTS[j] * input[j];
    }
    return sum;
}

} // namespace

// A thread has two elements: they share 15 of their 16 inputs, which it loads in pairs. With one element a thread, the
// loads would keep the first-level cache busy for longer than the memory.
__global__ void fir(const double* __restrict__ input, double* __restrict__ out, size_t n) {
    const size_t i = 2 * gpu::index();
    if (i + 1 < n) {
        double window[TAPS + 1];
#pragma unroll
        for (int j = 0; j < TAPS; j += 2) {
            const double2 pair = *reinterpret_cast<const double2*>(input + i + j);
            window[j] = pair.x;
            window[j + 1] = pair.y;
        }
        window[TAPS] = input[i + TAPS];
        *reinterpret_cast<double2*>(out + i) = make_double2(filter(window), filter(window + 1));
    } else if (i < n) {
        out[i] = filter(input + i);
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const size_t n = problem->size;
    return gpu::launch_items(fir, *problem, n / 2 + n % 2, given.input.data, given.out.data, n);
}
