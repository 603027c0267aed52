// Apps_LTIMES: the moments of a flux that is known in directions, phi[z][g][m] += sum over d of ell[m][d] *
// psi[z][g][d].
#include "../extents.h"
#include "../ironsweep.h"

namespace {

using extents::DIRECTIONS;
using extents::GROUPS;
using extents::MOMENTS;

struct Arguments {
    Array<double> phi;
    Array<const double> ell;
    Array<const double> psi;
};

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    double* __restrict__ phi = given.phi.data;
    const double* __restrict__ ell = given.ell.data;
    const double* __restrict__ psi = given.psi.data;
    const size_t n = extents::transport_zones(problem->size) * GROUPS;
#pragma omp parallel
    {
        // With the moments side by side, as in phi, a vector holds several of them.
        double transposed[DIRECTIONS][MOMENTS];
        for (size_t d = 0; d < DIRECTIONS; ++d) {
            for (size_t m = 0; m < MOMENTS; ++m) {
                transposed[d][m] = ell[d + DIRECTIONS * m];
            }
        }
#pragma omp for schedule(static) nowait
        for (size_t i = 0; i < n; ++i) {
            double* __restrict__ moments = phi + MOMENTS * i;
            const double* __restrict__ directions = psi + DIRECTIONS * i;
#pragma clang loop vectorize(assume_safety)
            for (size_t m = 0; m < MOMENTS; ++m) {
                double sum = moments[m];
                for (size_t d = 0; d < DIRECTIONS; ++d) {
                    sum += transposed[d][m] * directions[d];
                }
                moments[m] = sum;
            }
        }
    }
    return IRONSWEEP_OK;
}
