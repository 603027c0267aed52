// Lcals_HYDRO_2D: a step of a fluid's motion in two dimensions, Livermore loop 18, in three loops.
#include "../extents.h"
#include "../ironsweep.h"

namespace {

struct Arguments {
    Array<double> zrout;
    Array<double> zzout;
    Array<double> za;
    Array<double> zb;
    Array<const double> zm;
    Array<const double> zp;
    Array<const double> zq;
    Array<const double> zr;
    Array<double> zu;
    Array<double> zv;
    Array<const double> zz;
};

constexpr double S = 0.0041;
constexpr double T = 0.0037;

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    double* __restrict__ zrout = given.zrout.data;
    double* __restrict__ zzout = given.zzout.data;
    double* __restrict__ za = given.za.data;
    double* __restrict__ zb = given.zb.data;
    const double* __restrict__ zm = given.zm.data;
    const double* __restrict__ zp = given.zp.data;
    const double* __restrict__ zq = given.zq.data;
    const double* __restrict__ zr = given.zr.data;
    double* __restrict__ zu = given.zu.data;
    double* __restrict__ zv = given.zv.data;
    const double* __restrict__ zz = given.zz.data;
    const size_t n = extents::square(problem->size);
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t k = 1; k < n - 1; ++k) {
#pragma clang loop vectorize(assume_safety)
            for (size_t i = k * n + 1; i < (k + 1) * n - 1; ++i) {
                za[i] = (zp[i + n - 1] + zq[i + n - 1] - zp[i - 1] - zq[i - 1]) * (zr[i] + zr[i - 1]) /
                        (zm[i - 1] + zm[i + n - 1]);
                zb[i] = (zp[i - 1] + zq[i - 1] - zp[i] - zq[i]) * (zr[i] + zr[i - n]) / (zm[i] + zm[i - 1]);
            }
        }
#pragma omp for schedule(static) nowait
        for (size_t k = 1; k < n - 1; ++k) {
#pragma clang loop vectorize(assume_safety)
            for (size_t i = k * n + 1; i < (k + 1) * n - 1; ++i) {
                zu[i] += S * (za[i] * (zz[i] - zz[i + 1]) - za[i - 1] * (zz[i] - zz[i - 1]) -
                              zb[i] * (zz[i] - zz[i - n]) + zb[i + n] * (zz[i] - zz[i + n]));
                zv[i] += S * (za[i] * (zr[i] - zr[i + 1]) - za[i - 1] * (zr[i] - zr[i - 1]) -
                              zb[i] * (zr[i] - zr[i - n]) + zb[i + n] * (zr[i] - zr[i + n]));
            }
        }
        // A thread has the rows that it had in the loop before, and needs no others.
#pragma omp for schedule(static) nowait
        for (size_t k = 1; k < n - 1; ++k) {
#pragma clang loop vectorize(assume_safety)
            for (size_t i = k * n + 1; i < (k + 1) * n - 1; ++i) {
                zrout[i] = zr[i] + T * zu[i];
                zzout[i] = zz[i] + T * zv[i];
            }
        }
    }
    return IRONSWEEP_OK;
}
