// Apps_ENERGY: the energy and the artificial viscosity of a gas after a time step, in six launches.
#include "gpu.h"

namespace {

struct Arguments {
    Array<double> e_new;
    Array<const double> e_old;
    Array<const double> delvc;
    Array<const double> p_new;
    Array<const double> p_old;
    Array<double> q_new;
    Array<const double> q_old;
    Array<const double> work;
    Array<const double> comp_half_step;
    Array<const double> p_half_step;
    Array<const double> bvc;
    Array<const double> pbvc;
    Array<const double> ql_old;
    Array<const double> qq_old;
    Array<const double> vnewc;
    double rho0;
    double e_cut;
    double emin;
    double q_cut;
};

// The speed of sound from its square, which is kept from being too small.
__device__ inline double sound_speed(double square) {
    constexpr double SMALLEST_SQUARE = 0.1111111e-36;
    constexpr double SMALLEST = 0.3333333e-18;
    return square <= SMALLEST_SQUARE ? SMALLEST : sqrt(square);
}

__device__ inline double cut(double e, double e_cut, double emin) {
    e = fabs(e) < e_cut ? 0.0 : e;
    return e < emin ? emin : e;
}

} // namespace

__global__ void energy_predict(double* __restrict__ e_new, const double* __restrict__ e_old,
                               const double* __restrict__ delvc, const double* __restrict__ p_old,
                               const double* __restrict__ q_old, const double* __restrict__ work, size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        e_new[i] = e_old[i] - 0.5 * delvc[i] * (p_old[i] + q_old[i]) + 0.5 * work[i];
    }
}

__global__ void viscosity_half_step(double* __restrict__ q_new, const double* __restrict__ e_new,
                                    const double* __restrict__ delvc, const double* __restrict__ comp_half_step,
                                    const double* __restrict__ p_half_step, const double* __restrict__ bvc,
                                    const double* __restrict__ pbvc, const double* __restrict__ ql_old,
                                    const double* __restrict__ qq_old, double rho0, size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        double q = 0.0;
        if (!(delvc[i] > 0.0)) {
            const double vhalf = 1.0 / (1.0 + comp_half_step[i]);
            const double square = (pbvc[i] * e_new[i] + vhalf * vhalf * bvc[i] * p_half_step[i]) / rho0;
            q = sound_speed(square) * ql_old[i] + qq_old[i];
        }
        q_new[i] = q;
    }
}

__global__ void energy_half_step(double* __restrict__ e_new, const double* __restrict__ delvc,
                                 const double* __restrict__ p_old, const double* __restrict__ q_old,
                                 const double* __restrict__ p_half_step, const double* __restrict__ q_new, size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        e_new[i] += 0.5 * delvc[i] * (3.0 * (p_old[i] + q_old[i]) - 4.0 * (p_half_step[i] + q_new[i]));
    }
}

__global__ void energy_cut(double* __restrict__ e_new, const double* __restrict__ work, double e_cut, double emin,
                           size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        e_new[i] = cut(e_new[i] + 0.5 * work[i], e_cut, emin);
    }
}

__global__ void energy_correct(double* __restrict__ e_new, const double* __restrict__ delvc,
                               const double* __restrict__ p_new, const double* __restrict__ p_old,
                               const double* __restrict__ q_new, const double* __restrict__ q_old,
                               const double* __restrict__ p_half_step, const double* __restrict__ bvc,
                               const double* __restrict__ pbvc, const double* __restrict__ ql_old,
                               const double* __restrict__ qq_old, const double* __restrict__ vnewc, double rho0,
                               double e_cut, double emin, size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        const double e = e_new[i];
        const double p = p_new[i];
        double q_tilde = 0.0;
        if (!(delvc[i] > 0.0)) {
            const double square = (pbvc[i] * e + vnewc[i] * vnewc[i] * bvc[i] * p) / rho0;
            q_tilde = sound_speed(square) * ql_old[i] + qq_old[i];
        }
        const double change = 7.0 * (p_old[i] + q_old[i]) - 8.0 * (p_half_step[i] + q_new[i]) + (p + q_tilde);
        e_new[i] = cut(e - change * delvc[i] / 6.0, e_cut, emin);
    }
}

__global__ void viscosity(double* __restrict__ q_new, const double* __restrict__ e_new,
                          const double* __restrict__ delvc, const double* __restrict__ p_new,
                          const double* __restrict__ bvc, const double* __restrict__ pbvc,
                          const double* __restrict__ ql_old, const double* __restrict__ qq_old,
                          const double* __restrict__ vnewc, double rho0, double q_cut, size_t n) {
    const size_t i = gpu::index();
    if (i < n && delvc[i] <= 0.0) {
        const double square = (pbvc[i] * e_new[i] + vnewc[i] * vnewc[i] * bvc[i] * p_new[i]) / rho0;
        const double q = sound_speed(square) * ql_old[i] + qq_old[i];
        q_new[i] = fabs(q) < q_cut ? 0.0 : q;
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    double* e_new = given.e_new.data;
    const double* delvc = given.delvc.data;
    const double* p_new = given.p_new.data;
    const double* p_old = given.p_old.data;
    double* q_new = given.q_new.data;
    const double* q_old = given.q_old.data;
    const double* work = given.work.data;
    const double* p_half_step = given.p_half_step.data;
    const double* bvc = given.bvc.data;
    const double* pbvc = given.pbvc.data;
    const double* ql_old = given.ql_old.data;
    const double* qq_old = given.qq_old.data;
    const double* vnewc = given.vnewc.data;
    const size_t n = problem->size;
    return gpu::all({
        gpu::launch_items(energy_predict, *problem, n, e_new, given.e_old.data, delvc, p_old, q_old, work, n),
        gpu::launch_items(viscosity_half_step, *problem, n, q_new, e_new, delvc, given.comp_half_step.data, p_half_step,
                          bvc, pbvc, ql_old, qq_old, given.rho0, n),
        gpu::launch_items(energy_half_step, *problem, n, e_new, delvc, p_old, q_old, p_half_step, q_new, n),
        gpu::launch_items(energy_cut, *problem, n, e_new, work, given.e_cut, given.emin, n),
        gpu::launch_items(energy_correct, *problem, n, e_new, delvc, p_new, p_old, q_new, q_old, p_half_step, bvc, pbvc,
                          ql_old, qq_old, vnewc, given.rho0, given.e_cut, given.emin, n),
        gpu::launch_items(viscosity, *problem, n, q_new, e_new, delvc, p_new, bvc, pbvc, ql_old, qq_old, vnewc,
                          given.rho0, given.q_cut, n),
    });
}
