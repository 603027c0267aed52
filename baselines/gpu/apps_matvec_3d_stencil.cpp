// Apps_MATVEC_3D_STENCIL: a symmetric matrix, given by its 14 diagonals from the lowest to the middle, times a vector;
// each zone has 27 neighbours, itself among them.
#include "../extents.h"
#include "gpu.h"

#include <cstdint>

namespace {

// A diagonal is named by the neighbour that it multiplies: by its plane (down, centre), its row (back, centre, front)
// and its place in the row (left, centre, right).
struct Arguments {
    Array<double> b;
    Array<const double> x;
    Array<const double> dbl;
    Array<const double> dbc;
    Array<const double> dbr;
    Array<const double> dcl;
    Array<const double> dcc;
    Array<const double> dcr;
    Array<const double> dfl;
    Array<const double> dfc;
    Array<const double> dfr;
    Array<const double> cbl;
    Array<const double> cbc;
    Array<const double> cbr;
    Array<const double> ccl;
    Array<const double> ccc;
    Array<const std::int64_t> real_zones;
};

// Columns of a block, and planes that its threads walk through: they find in the first-level cache what their neighbours
// have read. Other blocks were slower on an H200.
constexpr unsigned WIDTH = 64;
constexpr unsigned DEPTH = 4;

} // namespace

// The list goes along the rows, `edge` zones along each axis.
__global__ void matvec_3d_stencil(double* __restrict__ b, const double* __restrict__ x, const double* __restrict__ dbl,
                                  const double* __restrict__ dbc, const double* __restrict__ dbr,
                                  const double* __restrict__ dcl, const double* __restrict__ dcc,
                                  const double* __restrict__ dcr, const double* __restrict__ dfl,
                                  const double* __restrict__ dfc, const double* __restrict__ dfr,
                                  const double* __restrict__ cbl, const double* __restrict__ cbc,
                                  const double* __restrict__ cbr, const double* __restrict__ ccl,
                                  const double* __restrict__ ccc, const std::int64_t* __restrict__ real_zones,
                                  size_t row, size_t plane, size_t edge) {
    const size_t column = gpu::index(), line = gpu::row();
    if (column >= edge || line >= edge) {
        return;
    }
    const size_t begin = static_cast<size_t>(blockIdx.z) * DEPTH;
    const size_t end = begin + DEPTH < edge ? begin + DEPTH : edge;
    for (size_t level = begin; level < end; ++level) {
        const auto i = static_cast<size_t>(real_zones[column + edge * (line + edge * level)]);
        // An upper diagonal's element is the lower one's at the neighbour.
        b[i] = dbl[i] * x[i - plane - row - 1] + dbc[i] * x[i - plane - row] + dbr[i] * x[i - plane - row + 1] +
               dcl[i] * x[i - plane - 1] + dcc[i] * x[i - plane] + dcr[i] * x[i - plane + 1] +
               dfl[i] * x[i - plane + row - 1] + dfc[i] * x[i - plane + row] + dfr[i] * x[i - plane + row + 1] +
               cbl[i] * x[i - row - 1] + cbc[i] * x[i - row] + cbr[i] * x[i - row + 1] + ccl[i] * x[i - 1] +
               ccc[i] * x[i] + ccl[i + 1] * x[i + 1] + cbr[i + row - 1] * x[i + row - 1] + cbc[i + row] * x[i + row] +
               cbl[i + row + 1] * x[i + row + 1] + dfr[i + plane - row - 1] * x[i + plane - row - 1] +
               dfc[i + plane - row] * x[i + plane - row] + dfl[i + plane - row + 1] * x[i + plane - row + 1] +
               dcr[i + plane - 1] * x[i + plane - 1] + dcc[i + plane] * x[i + plane] +
               dcl[i + plane + 1] * x[i + plane + 1] + dbr[i + plane + row - 1] * x[i + plane + row - 1] +
               dbc[i + plane + row] * x[i + plane + row] + dbl[i + plane + row + 1] * x[i + plane + row + 1];
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const auto mesh = extents::mesh_3d(problem->size);
    const size_t edge = extents::cube(problem->size);
    const auto height = static_cast<unsigned>(problem->block / WIDTH);
    const dim3 grid(gpu::groups(edge, WIDTH), gpu::groups(edge, height), gpu::groups(edge, DEPTH));
    return gpu::launch(matvec_3d_stencil, grid, dim3(WIDTH, height), given.b.data, given.x.data, given.dbl.data,
                       given.dbc.data, given.dbr.data, given.dcl.data, given.dcc.data, given.dcr.data, given.dfl.data,
                       given.dfc.data, given.dfr.data, given.cbl.data, given.cbc.data, given.cbr.data, given.ccl.data,
                       given.ccc.data, given.real_zones.data, mesh.row, mesh.plane, edge);
}
