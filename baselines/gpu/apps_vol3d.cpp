// Apps_VOL3D: the volume of each zone of a mesh, a hexahedron between eight nodes.
#include "../extents.h"
#include "gpu.h"

namespace {

struct Arguments {
    Array<const double> x;
    Array<const double> y;
    Array<const double> z;
    Array<double> vol;
};

struct Vector {
    double x, y, z;
};

__device__ inline Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

// a * (b x c)
__device__ inline double triple(Vector a, Vector b, Vector c) {
    return a.x * (b.y * c.z - b.z * c.y) + a.y * (b.z * c.x - b.x * c.z) + a.z * (b.x * c.y - b.y * c.x);
}

} // namespace

__global__ void vol3d(const double* __restrict__ x, const double* __restrict__ y, const double* __restrict__ z,
                      double* __restrict__ vol, size_t row, size_t plane, size_t first, size_t n) {
    const size_t item = gpu::index();
    if (item < n) {
        const size_t i = first + item;
        // From one corner to another: bit 0 of a corner's number is its step along the row, bit 1 to the next row, bit
        // 2 to the next plane.
        const auto edge = [=](size_t to, size_t from) -> Vector {
            return {x[to] - x[from], y[to] - y[from], z[to] - z[from]};
        };
        const size_t c0 = i, c1 = i + 1, c2 = c0 + row, c3 = c1 + row;
        const size_t c4 = c0 + plane, c5 = c1 + plane, c6 = c2 + plane, c7 = c3 + plane;
        const Vector v71 = edge(c7, c1), v72 = edge(c7, c2), v74 = edge(c7, c4);
        const Vector v30 = edge(c3, c0), v50 = edge(c5, c0), v60 = edge(c6, c0);
        vol[i] = 0.083333333333333333 *
                 (triple(v71 + v60, v72, v30) + triple(v72 + v50, v74, v60) + triple(v74 + v30, v71, v50));
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const auto mesh = extents::mesh_3d(problem->size);
    const size_t n = mesh.last + 1 - mesh.first;
    return gpu::launch_items(vol3d, *problem, n, given.x.data, given.y.data, given.z.data, given.vol.data, mesh.row,
                             mesh.plane, mesh.first, n);
}
