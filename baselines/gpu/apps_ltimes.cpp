// Apps_LTIMES: the moments of a flux that is known in directions, phi[z][g][m] += sum over d of ell[m][d] *
// psi[z][g][d].
#include "../extents.h"
#include "gpu.h"

namespace {

using extents::DIRECTIONS;
using extents::GROUPS;
using extents::MOMENTS;

struct Arguments {
    Array<double> phi;
    Array<const double> ell;
    Array<const double> psi;
};

// Groups of a zone that a thread computes a moment of: it loads the moment's row of ell once for all of them.
constexpr unsigned REPEAT = 4;
constexpr unsigned HEIGHT = GROUPS / REPEAT;
constexpr unsigned THREADS = MOMENTS * HEIGHT;
static_assert(GROUPS % REPEAT == 0 && DIRECTIONS % 2 == 0 && THREADS >= DIRECTIONS * GROUPS);

} // namespace

// A block is a zone: its threads read the zone's directions once, into shared memory. A thread's moment is the same in all
// of its groups, and threads lie side by side as phi does: all of them work, on addresses without gaps. What a thread reads
// is on its way at once, before it waits for the others.
__global__ void ltimes(double* __restrict__ phi, const double* __restrict__ ell, const double* __restrict__ psi) {
    __shared__ double directions[DIRECTIONS * GROUPS];
    const unsigned t = threadIdx.x, m = t % MOMENTS, group = t / MOMENTS;
    double* const moments = phi + MOMENTS * GROUPS * static_cast<size_t>(blockIdx.x) + t;
    double sums[REPEAT];
#pragma unroll
    for (unsigned r = 0; r < REPEAT; ++r) {
        sums[r] = moments[THREADS * r];
    }
    if (t < DIRECTIONS * GROUPS) {
        directions[t] = psi[DIRECTIONS * GROUPS * static_cast<size_t>(blockIdx.x) + t];
    }
    // In pairs: each row begins at a multiple of 16 bytes.
    double row[DIRECTIONS];
#pragma unroll
    for (unsigned d = 0; d < DIRECTIONS; d += 2) {
        const double2 pair = *reinterpret_cast<const double2*>(ell + DIRECTIONS * m + d);
        row[d] = pair.x;
        row[d + 1] = pair.y;
    }
    __syncthreads();
#pragma unroll
    for (unsigned r = 0; r < REPEAT; ++r) {
#pragma unroll
        for (unsigned d = 0; d < DIRECTIONS; ++d) {
            sums[r] += row[d] * directions[DIRECTIONS * (group + r * HEIGHT) + d];
        }
    }
#pragma unroll
    for (unsigned r = 0; r < REPEAT; ++r) {
        moments[THREADS * r] = sums[r];
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const size_t zones = extents::transport_zones(problem->size);
    return gpu::launch(ltimes, gpu::groups(zones, 1), dim3(THREADS), given.phi.data, given.ell.data,
                       given.psi.data);
}
