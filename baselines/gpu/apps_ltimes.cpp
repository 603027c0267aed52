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
static_assert(GROUPS % REPEAT == 0 && DIRECTIONS % 2 == 0);

} // namespace

// A block is a zone, whose directions all its threads need: they are read once, into shared memory. It is as wide as phi's
// rows, which lie side by side: all its threads work, on addresses without gaps.
__global__ void ltimes(double* __restrict__ phi, const double* __restrict__ ell, const double* __restrict__ psi) {
    __shared__ double directions[DIRECTIONS * GROUPS];
    const unsigned m = threadIdx.x;
    const size_t zone = blockIdx.x;
    for (unsigned i = threadIdx.y * MOMENTS + m; i < DIRECTIONS * GROUPS; i += MOMENTS * HEIGHT) {
        directions[i] = psi[DIRECTIONS * GROUPS * zone + i];
    }
    // In pairs: each row begins at a multiple of 16 bytes.
    double row[DIRECTIONS];
#pragma unroll
    for (unsigned d = 0; d < DIRECTIONS; d += 2) {
        const double2 pair = *reinterpret_cast<const double2*>(ell + DIRECTIONS * m + d);
        row[d] = pair.x;
        row[d + 1] = pair.y;
    }
    double* const moments = phi + m + MOMENTS * GROUPS * zone;
    double sums[REPEAT];
#pragma unroll
    for (unsigned r = 0; r < REPEAT; ++r) {
        sums[r] = moments[MOMENTS * (threadIdx.y + r * HEIGHT)];
    }
    __syncthreads();
#pragma unroll
    for (unsigned r = 0; r < REPEAT; ++r) {
#pragma unroll
        for (unsigned d = 0; d < DIRECTIONS; ++d) {
            sums[r] += row[d] * directions[DIRECTIONS * (threadIdx.y + r * HEIGHT) + d];
        }
    }
#pragma unroll
    for (unsigned r = 0; r < REPEAT; ++r) {
        moments[MOMENTS * (threadIdx.y + r * HEIGHT)] = sums[r];
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const size_t zones = extents::transport_zones(problem->size);
    return gpu::launch(ltimes, gpu::groups(zones, 1), dim3(MOMENTS, HEIGHT), given.phi.data, given.ell.data,
                       given.psi.data);
}
