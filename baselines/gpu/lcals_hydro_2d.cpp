// Lcals_HYDRO_2D: a step of a fluid's motion in two dimensions, Livermore loop 18, in three launches.
#include "../extents.h"
#include "gpu.h"

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

__global__ void hydro_forces(double* __restrict__ za, double* __restrict__ zb, const double* __restrict__ zm,
                             const double* __restrict__ zp, const double* __restrict__ zq,
                             const double* __restrict__ zr, size_t n) {
    const size_t first = (1 + gpu::row()) * n + 1;
    const size_t column = gpu::column(first);
    if (gpu::row() < n - 2 && column < n - 2) {
        const size_t i = first + column;
        za[i] =
            (zp[i + n - 1] + zq[i + n - 1] - zp[i - 1] - zq[i - 1]) * (zr[i] + zr[i - 1]) / (zm[i - 1] + zm[i + n - 1]);
        zb[i] = (zp[i - 1] + zq[i - 1] - zp[i] - zq[i]) * (zr[i] + zr[i - n]) / (zm[i] + zm[i - 1]);
    }
}

__global__ void hydro_speeds(double* __restrict__ zu, double* __restrict__ zv, const double* __restrict__ za,
                             const double* __restrict__ zb, const double* __restrict__ zr,
                             const double* __restrict__ zz, size_t n) {
    const size_t first = (1 + gpu::row()) * n + 1;
    const size_t column = gpu::column(first);
    if (gpu::row() < n - 2 && column < n - 2) {
        const size_t i = first + column;
        zu[i] += S * (za[i] * (zz[i] - zz[i + 1]) - za[i - 1] * (zz[i] - zz[i - 1]) - zb[i] * (zz[i] - zz[i - n]) +
                      zb[i + n] * (zz[i] - zz[i + n]));
        zv[i] += S * (za[i] * (zr[i] - zr[i + 1]) - za[i - 1] * (zr[i] - zr[i - 1]) - zb[i] * (zr[i] - zr[i - n]) +
                      zb[i + n] * (zr[i] - zr[i + n]));
    }
}

__global__ void hydro_places(double* __restrict__ zrout, double* __restrict__ zzout, const double* __restrict__ zr,
                             const double* __restrict__ zu, const double* __restrict__ zv,
                             const double* __restrict__ zz, size_t n) {
    const size_t first = (1 + gpu::row()) * n + 1;
    const size_t column = gpu::column(first);
    if (gpu::row() < n - 2 && column < n - 2) {
        const size_t i = first + column;
        zrout[i] = zr[i] + T * zu[i];
        zzout[i] = zz[i] + T * zv[i];
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const size_t n = extents::square(problem->size);
    // Without the border of one element on each side.
    const size_t inner = n > 2 ? n - 2 : 0;
    return gpu::all({
        gpu::launch_plane(hydro_forces, *problem, inner, inner, given.za.data, given.zb.data, given.zm.data,
                          given.zp.data, given.zq.data, given.zr.data, n),
        gpu::launch_plane(hydro_speeds, *problem, inner, inner, given.zu.data, given.zv.data, given.za.data,
                          given.zb.data, given.zr.data, given.zz.data, n),
        gpu::launch_plane(hydro_places, *problem, inner, inner, given.zrout.data, given.zzout.data, given.zr.data,
                          given.zu.data, given.zv.data, given.zz.data, n),
    });
}
