// Apps_DEL_DOT_VEC_2D: the divergence of a velocity in each zone of a mesh, a quadrilateral between four nodes.
#include "../extents.h"
#include "../ironsweep.h"

#include <cstdint>

namespace {

struct Arguments {
    Array<const double> x;
    Array<const double> y;
    Array<const std::int64_t> real_zones;
    Array<const double> xdot;
    Array<const double> ydot;
    Array<double> div;
};

// A quantity at a zone's corners, anticlockwise; `across` and `along` are its differences in the zone's two directions.
struct Corners {
    double v1, v2, v3, v4;
    double across() const { return 0.5 * (v1 + v2 - v3 - v4); }
    double along() const { return 0.5 * (v2 + v3 - v4 - v1); }
    double sum() const { return v1 + v2 + v3 + v4; }
};

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const double* __restrict__ x = given.x.data;
    const double* __restrict__ y = given.y.data;
    const std::int64_t* __restrict__ real_zones = given.real_zones.data;
    const double* __restrict__ xdot = given.xdot.data;
    const double* __restrict__ ydot = given.ydot.data;
    double* __restrict__ div = given.div.data;
    const auto mesh = extents::mesh_2d(problem->size);
    const size_t row = mesh.row;
    const size_t n = mesh.zones;
#pragma omp parallel for schedule(static)
    for (size_t zone = 0; zone < n; ++zone) {
        constexpr double TINY = 1e-20;
        const auto i = static_cast<size_t>(real_zones[zone]);
        const auto corners = [=](const double* a) -> Corners { return {a[i + 1], a[i + 1 + row], a[i + row], a[i]}; };
        const Corners cx = corners(x), cy = corners(y), fx = corners(xdot), fy = corners(ydot);
        const double xi = cx.across(), xj = cx.along(), yi = cy.across(), yj = cy.along();
        const double rarea = 1.0 / (xi * yj - xj * yi + TINY);
        const double dfxdx = rarea * (fx.across() * yj - fx.along() * yi);
        const double dfydy = rarea * (fy.along() * xi - fy.across() * xj);
        div[i] = dfxdx + dfydy + fy.sum() / cy.sum();
    }
    return IRONSWEEP_OK;
}
