// Apps_ENERGY: the energy and the artificial viscosity of a gas after a time step, in six loops.
#include "../ironsweep.h"

#include <cmath>

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
inline double sound_speed(double square) {
    constexpr double SMALLEST_SQUARE = 0.1111111e-36;
    constexpr double SMALLEST = 0.3333333e-18;
    // std::sqrt also sets errno, which would keep loops from being vectorised.
    return square <= SMALLEST_SQUARE ? SMALLEST : __builtin_elementwise_sqrt(square);
}

inline double cut(double e, double e_cut, double emin) {
    e = std::fabs(e) < e_cut ? 0.0 : e;
    return e < emin ? emin : e;
}

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    double* __restrict__ e_new = given.e_new.data;
    const double* __restrict__ e_old = given.e_old.data;
    const double* __restrict__ delvc = given.delvc.data;
    const double* __restrict__ p_new = given.p_new.data;
    const double* __restrict__ p_old = given.p_old.data;
    double* __restrict__ q_new = given.q_new.data;
    const double* __restrict__ q_old = given.q_old.data;
    const double* __restrict__ work = given.work.data;
    const double* __restrict__ comp_half_step = given.comp_half_step.data;
    const double* __restrict__ p_half_step = given.p_half_step.data;
    const double* __restrict__ bvc = given.bvc.data;
    const double* __restrict__ pbvc = given.pbvc.data;
    const double* __restrict__ ql_old = given.ql_old.data;
    const double* __restrict__ qq_old = given.qq_old.data;
    const double* __restrict__ vnewc = given.vnewc.data;
    const double rho0 = given.rho0;
    const double e_cut = given.e_cut;
    const double emin = given.emin;
    const double q_cut = given.q_cut;
    const size_t n = problem->size;
#pragma omp parallel
    {
        // Loops of one length give a thread the same elements: it need not wait for others between them.
#pragma omp for schedule(static) nowait
#pragma clang loop vectorize(assume_safety)
        for (size_t i = 0; i < n; ++i) {
            e_new[i] = e_old[i] - 0.5 * delvc[i] * (p_old[i] + q_old[i]) + 0.5 * work[i];
        }
#pragma omp for schedule(static) nowait
#pragma clang loop vectorize(assume_safety)
        for (size_t i = 0; i < n; ++i) {
            double q = 0.0;
            if (!(delvc[i] > 0.0)) {
                const double vhalf = 1.0 / (1.0 + comp_half_step[i]);
                const double square = (pbvc[i] * e_new[i] + vhalf * vhalf * bvc[i] * p_half_step[i]) / rho0;
                q = sound_speed(square) * ql_old[i] + qq_old[i];
            }
            q_new[i] = q;
        }
#pragma omp for schedule(static) nowait
#pragma clang loop vectorize(assume_safety)
        for (size_t i = 0; i < n; ++i) {
            e_new[i] += 0.5 * delvc[i] * (3.0 * (p_old[i] + q_old[i]) - 4.0 * (p_half_step[i] + q_new[i]));
        }
#pragma omp for schedule(static) nowait
#pragma clang loop vectorize(assume_safety)
        for (size_t i = 0; i < n; ++i) {
            e_new[i] = cut(e_new[i] + 0.5 * work[i], e_cut, emin);
        }
#pragma omp for schedule(static) nowait
#pragma clang loop vectorize(assume_safety)
        for (size_t i = 0; i < n; ++i) {
            double q_tilde = 0.0;
            if (!(delvc[i] > 0.0)) {
                const double square = (pbvc[i] * e_new[i] + vnewc[i] * vnewc[i] * bvc[i] * p_new[i]) / rho0;
                q_tilde = sound_speed(square) * ql_old[i] + qq_old[i];
            }
            const double change =
                7.0 * (p_old[i] + q_old[i]) - 8.0 * (p_half_step[i] + q_new[i]) + (p_new[i] + q_tilde);
            e_new[i] = cut(e_new[i] - change * delvc[i] / 6.0, e_cut, emin);
        }
#pragma omp for schedule(static) nowait
#pragma clang loop vectorize(assume_safety)
        for (size_t i = 0; i < n; ++i) {
            if (delvc[i] <= 0.0) {
                const double square = (pbvc[i] * e_new[i] + vnewc[i] * vnewc[i] * bvc[i] * p_new[i]) / rho0;
                const double q = sound_speed(square) * ql_old[i] + qq_old[i];
                q_new[i] = std::fabs(q) < q_cut ? 0.0 : q;
            }
        }
    }
    return IRONSWEEP_OK;
}
