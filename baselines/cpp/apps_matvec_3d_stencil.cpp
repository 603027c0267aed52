// Apps_MATVEC_3D_STENCIL: a symmetric matrix, given by its 14 diagonals from the lowest to the middle, times a vector;
// each zone has 27 neighbours, itself among them.
#include "../extents.h"
#include "../ironsweep.h"

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

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    double* __restrict__ b = given.b.data;
    const double* __restrict__ x = given.x.data;
    const double* __restrict__ dbl = given.dbl.data;
    const double* __restrict__ dbc = given.dbc.data;
    const double* __restrict__ dbr = given.dbr.data;
    const double* __restrict__ dcl = given.dcl.data;
    const double* __restrict__ dcc = given.dcc.data;
    const double* __restrict__ dcr = given.dcr.data;
    const double* __restrict__ dfl = given.dfl.data;
    const double* __restrict__ dfc = given.dfc.data;
    const double* __restrict__ dfr = given.dfr.data;
    const double* __restrict__ cbl = given.cbl.data;
    const double* __restrict__ cbc = given.cbc.data;
    const double* __restrict__ cbr = given.cbr.data;
    const double* __restrict__ ccl = given.ccl.data;
    const double* __restrict__ ccc = given.ccc.data;
    const std::int64_t* __restrict__ real_zones = given.real_zones.data;
    const auto mesh = extents::mesh_3d(problem->size);
    const size_t row = mesh.row;
    const size_t plane = mesh.plane;
    const size_t n = mesh.zones;
#pragma omp parallel for schedule(static)
    for (size_t zone = 0; zone < n; ++zone) {
        const auto i = static_cast<size_t>(real_zones[zone]);
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
    return IRONSWEEP_OK;
}
