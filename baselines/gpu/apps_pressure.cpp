// Apps_PRESSURE: the pressure of a gas from its compression and energy, in two launches.
#include "gpu.h"

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

__global__ void pressure_coefficient(double* __restrict__ bvc, const double* __restrict__ compression, double cls,
                                     size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        bvc[i] = cls * (compression[i] + 1.0);
    }
}

__global__ void pressure(double* __restrict__ p_new, const double* __restrict__ bvc, const double* __restrict__ e_old,
                         const double* __restrict__ vnewc, double p_cut, double pmin, double eosvmax, size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        double p = bvc[i] * e_old[i];
        p = fabs(p) < p_cut ? 0.0 : p;
        p = vnewc[i] >= eosvmax ? 0.0 : p;
        p_new[i] = p < pmin ? pmin : p;
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const size_t n = problem->size;
    return gpu::all({
        gpu::launch_items(pressure_coefficient, *problem, n, given.bvc.data, given.compression.data, given.cls, n),
        gpu::launch_items(pressure, *problem, n, given.p_new.data, given.bvc.data, given.e_old.data, given.vnewc.data,
                          given.p_cut, given.pmin, given.eosvmax, n),
    });
}
