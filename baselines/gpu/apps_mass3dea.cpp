// Apps_MASS3DEA: the mass matrices of finite elements. With all indices in three directions,
// m[e][j][i] = sum over k of b[k1][i1] * b[k1][j1] * b[k2][i2] * b[k2][j2] * b[k3][i3] * b[k3][j3] * d[e][k].
#include "../extents.h"
#include "gpu.h"

namespace {

using extents::DOFS;
using extents::POINTS;

struct Arguments {
    Array<const double> b;
    Array<const double> d;
    Array<double> m;
};

constexpr unsigned COLUMNS = DOFS * DOFS * DOFS;
constexpr unsigned ALL_POINTS = POINTS * POINTS * POINTS;

} // namespace

// A block is an element, a thread an i: its threads write m side by side.
__global__ void __launch_bounds__(COLUMNS)
    mass3dea(const double* __restrict__ b, const double* __restrict__ d, double* __restrict__ m) {
    __shared__ double basis[POINTS][DOFS];
    __shared__ double weights[ALL_POINTS];
    const size_t e = blockIdx.x;
    const unsigned i = threadIdx.x;
    if (i < POINTS * DOFS) {
        basis[i % POINTS][i / POINTS] = b[i];
    }
    for (unsigned k = i; k < ALL_POINTS; k += COLUMNS) {
        weights[k] = d[ALL_POINTS * e + k];
    }
    __syncthreads();

    const unsigned i1 = i % DOFS;
    const unsigned i2 = i / DOFS % DOFS;
    const unsigned i3 = i / (DOFS * DOFS);
    // b[k3][i3] * b[k3][j3] for all j3, which the innermost loop runs through: a point's weight serves four entries.
    double products3[POINTS][DOFS];
#pragma unroll
    for (unsigned k3 = 0; k3 < POINTS; ++k3) {
#pragma unroll
        for (unsigned j3 = 0; j3 < DOFS; ++j3) {
            products3[k3][j3] = basis[k3][i3] * basis[k3][j3];
        }
    }
    double* column = m + COLUMNS * COLUMNS * e + i;
    for (unsigned j2 = 0; j2 < DOFS; ++j2) {
        double products2[POINTS];
#pragma unroll
        for (unsigned k2 = 0; k2 < POINTS; ++k2) {
            products2[k2] = basis[k2][i2] * basis[k2][j2];
        }
        for (unsigned j1 = 0; j1 < DOFS; ++j1) {
            double sums[DOFS] = {};
            // Not unrolled: the instructions of one round fill much of their cache.
#pragma unroll 1
            for (unsigned k1 = 0; k1 < POINTS; ++k1) {
                const double product1 = basis[k1][i1] * basis[k1][j1];
#pragma unroll
                for (unsigned k2 = 0; k2 < POINTS; ++k2) {
                    const double product12 = product1 * products2[k2];
#pragma unroll
                    for (unsigned k3 = 0; k3 < POINTS; ++k3) {
                        const double weight = product12 * weights[k1 + POINTS * (k2 + POINTS * k3)];
#pragma unroll
                        for (unsigned j3 = 0; j3 < DOFS; ++j3) {
                            sums[j3] += weight * products3[k3][j3];
                        }
                    }
                }
            }
#pragma unroll
            for (unsigned j3 = 0; j3 < DOFS; ++j3) {
                column[COLUMNS * (j1 + DOFS * (j2 + DOFS * j3))] = sums[j3];
            }
        }
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    // The block's size is the element's: others are not offered.
    return gpu::launch(mass3dea, gpu::groups(extents::elements(problem->size), 1), COLUMNS, given.b.data, given.d.data,
                       given.m.data);
}
