// Apps_VOL3D: the volume of each zone of a mesh, a hexahedron between eight nodes.
#include "../extents.h"
#include "../ironsweep.h"

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

inline Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

// a * (b x c)
inline double triple(Vector a, Vector b, Vector c) {
    return a.x * (b.y * c.z - b.z * c.y) + a.y * (b.z * c.x - b.x * c.z) + a.z * (b.x * c.y - b.y * c.x);
}

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const double* __restrict__ x = given.x.data;
    const double* __restrict__ y = given.y.data;
    const double* __restrict__ z = given.z.data;
    double* __restrict__ vol = given.vol.data;
    const auto mesh = extents::mesh_3d(problem->size);
    const size_t row = mesh.row;
    const size_t plane = mesh.plane;
    const size_t end = mesh.last + 1;
#pragma omp parallel for schedule(static)
#pragma clang loop vectorize(assume_safety)
    for (size_t i = mesh.first; i < end; ++i) {
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
    return IRONSWEEP_OK;
}
