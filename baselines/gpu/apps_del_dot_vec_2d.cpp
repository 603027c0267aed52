// Apps_DEL_DOT_VEC_2D: the divergence of a velocity in each zone of a mesh, a quadrilateral between four nodes.
#include "../extents.h"
#include "gpu.h"

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
    __device__ double across() const { return 0.5 * (v1 + v2 - v3 - v4); }
    __device__ double along() const { return 0.5 * (v2 + v3 - v4 - v1); }
    __device__ double sum() const { return v1 + v2 + v3 + v4; }
};

} // namespace

__global__ void del_dot_vec_2d(const double* __restrict__ x, const double* __restrict__ y,
                               const std::int64_t* __restrict__ real_zones, const double* __restrict__ xdot,
                               const double* __restrict__ ydot, double* __restrict__ div, size_t row, size_t n) {
    const size_t zone = gpu::index();
    if (zone < n) {
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
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const auto mesh = extents::mesh_2d(problem->size);
    return gpu::launch_items(del_dot_vec_2d, *problem, mesh.zones, given.x.data, given.y.data, given.real_zones.data,
                             given.xdot.data, given.ydot.data, given.div.data, mesh.row, mesh.zones);
}
