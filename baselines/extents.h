// The extents that RAJAPerf makes of a target size. Computed on the host.
#pragma once

#include <cmath>
#include <cstddef>

namespace extents {

// The side of a square of about `target` elements.
inline size_t square(size_t target) {
    return static_cast<size_t>(std::floor(std::sqrt(static_cast<double>(target)) + std::sqrt(2.0) - 1.0));
}

// The side of a cube of about `target` elements.
inline size_t cube(size_t target) {
    return static_cast<size_t>(std::floor(std::cbrt(static_cast<double>(target)) + std::cbrt(3.0) - 1.0));
}

// A mesh of about `target` zones, in arrays of nodes that have a margin around the mesh.
struct Mesh {
    // Zones of the mesh itself: those that a list names.
    size_t zones;
    // From a node to its neighbour in the next row, in the next plane; the latter is 0 in two dimensions.
    size_t row;
    size_t plane;
    // The first and the last zone of a loop that does not leave out the margins in between.
    size_t first;
    size_t last;
};

// `side`: the mesh's zones in one direction. Its arrays have four more nodes: a mesh has one node more than zones, and
// a margin of two nodes before and of one after it.
inline Mesh mesh(size_t zones, size_t side, size_t row, size_t plane) {
    const size_t diagonal = plane + row + 1;
    return {zones, row, plane, diagonal, (side + 2) * diagonal};
}

inline Mesh mesh_2d(size_t target) {
    const size_t side = square(target);
    return mesh(side * side, side, side + 4, 0);
}

inline Mesh mesh_3d(size_t target) {
    const size_t side = cube(target);
    const size_t row = side + 4;
    return mesh(side * side * side, side, row, row * row);
}

// Apps_LTIMES: directions, groups and moments are given, the target size decides the zones.
constexpr size_t DIRECTIONS = 6;
constexpr size_t GROUPS = 32;
constexpr size_t MOMENTS = 25;

inline size_t transport_zones(size_t target) {
    constexpr size_t ZONE = DIRECTIONS * GROUPS;
    const size_t zones = (target + ZONE / 2) / ZONE;
    return zones > 0 ? zones : 1;
}

// Apps_MASS3DEA: points in each of an element's three directions.
constexpr size_t DOFS = 4;
constexpr size_t POINTS = 5;
constexpr size_t ELEMENT_MATRIX = DOFS * DOFS * DOFS * DOFS * DOFS * DOFS;

inline size_t elements(size_t target) {
    const size_t number = (target + ELEMENT_MATRIX / 2) / ELEMENT_MATRIX;
    return number > 0 ? number : 1;
}

// Comm_HALO_PACKING: what is exchanged with one of the 26 neighbours of a cube: six at its faces, then twelve at its
// edges, then eight at its corners.
struct Neighbour {
    // Elements of one variable.
    size_t length;
    // Where its index lists begin.
    size_t list;
    // Where its buffers begin; in them, one variable follows another.
    size_t buffer;
};

constexpr size_t NEIGHBOURS = 26;
constexpr size_t VARIABLES = 3;

struct Halo {
    Neighbour neighbours[NEIGHBOURS];
};

inline Halo halo(size_t target) {
    // Buffers begin at cache lines.
    constexpr size_t LINE = 64 / sizeof(double);
    const size_t side = cube(target);
    Halo result;
    size_t list = 0;
    size_t buffer = 0;
    for (size_t neighbour = 0; neighbour < NEIGHBOURS; ++neighbour) {
        const size_t length = neighbour < 6 ? side * side : neighbour < 6 + 12 ? side : 1;
        result.neighbours[neighbour] = {length, list, buffer};
        list += length;
        buffer += (VARIABLES * length + LINE - 1) / LINE * LINE;
    }
    return result;
}

} // namespace extents
