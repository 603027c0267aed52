// Peak_FMA: as many fused multiply-adds as a GPU can do. Two chains begin at each of x[i] to x[i + 15]; after 64 steps
// chain = 0.99 * chain + b, or -0.99 * chain + b, they are joined in five rounds.
#include "gpu.h"

namespace {

struct Arguments {
    Array<const double> x;
    Array<double> out;
    double b;
};

constexpr int LANES = 16;
constexpr int STEPS = 64;
constexpr double FACTOR = 0.99;

// The second half of the chains is added to the first one, until one is left. A template, because a loop over halves is
// not unrolled, and chains that a loop counts are not kept in registers.
template <int HALF> __device__ inline double joined(double* chains) {
#pragma unroll
    for (int lane = 0; lane < HALF; ++lane) {
        chains[lane] = fma(chains[lane + HALF], FACTOR, chains[lane]);
    }
    if constexpr (HALF > 1) {
        return joined<HALF / 2>(chains);
    } else {
        return chains[0];
    }
}

} // namespace

// All chains of a thread are in registers. They do not wait for each other, so few threads keep the hardware busy.
__global__ void peak(const double* __restrict__ x, double* __restrict__ out, double b, size_t n) {
    const size_t i = gpu::index();
    if (i >= n) {
        return;
    }
    double first[LANES];
    double second[LANES];
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) {
        first[lane] = second[lane] = x[i + lane];
    }
    // Unrolled in part: all instructions of the loop fit in their cache.
#pragma unroll 4
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
        for (int lane = 0; lane < LANES; ++lane) {
            first[lane] = fma(first[lane], FACTOR, b);
        }
#pragma unroll
        for (int lane = 0; lane < LANES; ++lane) {
            second[lane] = fma(second[lane], -FACTOR, b);
        }
    }
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) {
        first[lane] = fma(second[lane], FACTOR, first[lane]);
    }
    out[i] = joined<LANES / 2>(first);
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    return gpu::launch_items(peak, *problem, problem->size, given.x.data, given.out.data, given.b, problem->size);
}
