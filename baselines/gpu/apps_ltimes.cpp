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

// Zones' groups that a thread computes a moment of: it loads the moment's row of ell once for all of them.
constexpr unsigned REPEAT = 4;

struct Directions {
    double values[DIRECTIONS];

    // Loaded in pairs: each row begins at a multiple of 16 bytes.
    __device__ explicit Directions(const double* __restrict__ row) {
        static_assert(DIRECTIONS % 2 == 0);
#pragma unroll
        for (unsigned d = 0; d < DIRECTIONS; d += 2) {
            const double2 pair = *reinterpret_cast<const double2*>(row + d);
            values[d] = pair.x;
            values[d + 1] = pair.y;
        }
    }
};

} // namespace

// A row is a zone's group. A block is as wide as phi's rows, which lie side by side: all its threads work, on addresses
// without gaps.
__global__ void ltimes(double* __restrict__ phi, const double* __restrict__ ell, const double* __restrict__ psi,
                       size_t rows) {
    const unsigned m = threadIdx.x;
    const size_t first = static_cast<size_t>(blockIdx.x) * blockDim.y * REPEAT + threadIdx.y;
    const Directions of_moment(ell + DIRECTIONS * m);
    double sums[REPEAT];
#pragma unroll
    for (unsigned r = 0; r < REPEAT; ++r) {
        // Beyond the end, the last row once more, not stored: without a branch all loads are on their way at once.
        const size_t row = first + r * blockDim.y;
        const size_t loaded = row < rows ? row : rows - 1;
        const Directions of_row(psi + DIRECTIONS * loaded);
        double sum = phi[m + MOMENTS * loaded];
#pragma unroll
        for (unsigned d = 0; d < DIRECTIONS; ++d) {
            sum += of_moment.values[d] * of_row.values[d];
        }
        sums[r] = sum;
    }
#pragma unroll
    for (unsigned r = 0; r < REPEAT; ++r) {
        const size_t row = first + r * blockDim.y;
        if (row < rows) {
            phi[m + MOMENTS * row] = sums[r];
        }
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const size_t rows = extents::transport_zones(problem->size) * GROUPS;
    // As many rows at once as warps of 32 threads have room in the block.
    const auto height = static_cast<unsigned>(problem->block / 32);
    return gpu::launch(ltimes, gpu::groups(rows, height * REPEAT), dim3(MOMENTS, height), given.phi.data,
                       given.ell.data, given.psi.data, rows);
}
