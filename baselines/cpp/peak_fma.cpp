// Peak_FMA: as many fused multiply-adds as a processor can do. Two chains begin at each of x[i] to x[i + 15]; after 64
// steps chain = 0.99 * chain + b, or -0.99 * chain + b, they are joined in five rounds.
#include "../ironsweep.h"

#include <cstring>

namespace {

struct Arguments {
    Array<const double> x;
    Array<double> out;
    double b;
};

constexpr size_t LANES = 16;
constexpr int STEPS = 64;
constexpr double FACTOR = 0.99;

// The compiler takes as many of the processor's vectors as it needs: with four numbers in each, all chains of an element
// are in half of the registers.
template <size_t N> using Chains = double __attribute__((vector_size(N * sizeof(double))));

// A value in all places; subtracting nothing changes none, and is left out.
template <size_t N> Chains<N> all(double value) { return value - Chains<N>{}; }

// The second half is added to the first one.
template <size_t HALF> Chains<HALF> halved(Chains<2 * HALF> chains) {
    Chains<HALF> halves[2];
    std::memcpy(halves, &chains, sizeof chains);
    return __builtin_elementwise_fma(halves[1], all<HALF>(FACTOR), halves[0]);
}

// One element. Vectors of one value are made here: brought from outside of a parallel region, each would be several
// registers, of which there are not enough.
double element(const double* __restrict__ x, double b) {
    Chains<LANES> first;
    std::memcpy(&first, x, sizeof first);
    Chains<LANES> second = first;
    for (int step = 0; step < STEPS; ++step) {
        first = __builtin_elementwise_fma(first, all<LANES>(FACTOR), all<LANES>(b));
        second = __builtin_elementwise_fma(second, all<LANES>(-FACTOR), all<LANES>(b));
    }
    first = __builtin_elementwise_fma(second, all<LANES>(FACTOR), first);
    return halved<1>(halved<2>(halved<4>(halved<8>(first))))[0];
}

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const double* __restrict__ x = given.x.data;
    double* __restrict__ out = given.out.data;
    const double b = given.b;
    const size_t n = problem->size;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; ++i) {
        out[i] = element(x + i, b);
    }
    return IRONSWEEP_OK;
}
