// Apps_PRESSURE: the pressure of a gas from its compression and energy, in two loops.
#include "../ironsweep.h"

#include <cmath>

namespace {

struct Arguments {
    Array<const double> compression;
    Array<double> bvc;
    Array<double> p_new;
    Array<const double> e_old;
    Array<const double> vnewc;
    double cls;
    double p_cut;
    double pmin;
    double eosvmax;
};

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const double* __restrict__ compression = given.compression.data;
    double* __restrict__ bvc = given.bvc.data;
    double* __restrict__ p_new = given.p_new.data;
    const double* __restrict__ e_old = given.e_old.data;
    const double* __restrict__ vnewc = given.vnewc.data;
    const double cls = given.cls;
    const double p_cut = given.p_cut;
    const double pmin = given.pmin;
    const double eosvmax = given.eosvmax;
    const size_t n = problem->size;
#pragma omp parallel
    {
        // Loops of one length give a thread the same elements: it need not wait for others between them.
#pragma omp for schedule(static) nowait
#pragma clang loop vectorize(assume_safety)
        for (size_t i = 0; i < n; ++i) {
            bvc[i] = cls * (compression[i] + 1.0);
        }
#pragma omp for schedule(static) nowait
#pragma clang loop vectorize(assume_safety)
        for (size_t i = 0; i < n; ++i) {
            double p = bvc[i] * e_old[i];
            p = std::fabs(p) < p_cut ? 0.0 : p;
            p = vnewc[i] >= eosvmax ? 0.0 : p;
            p_new[i] = p < pmin ? pmin : p;
        }
    }
    return IRONSWEEP_OK;
}
