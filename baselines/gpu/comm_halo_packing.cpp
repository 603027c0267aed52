// Comm_HALO_PACKING: gathers what a cube's 26 neighbours get into buffers, and scatters what came from them, each in a
// launch for each neighbour and variable: 156 launches.
#include "../extents.h"
#include "gpu.h"

#include <cstdint>

namespace {

struct Arguments {
    Array<const std::int32_t> pack_lists;
    Array<const std::int32_t> unpack_lists;
    Array<double> pack_buffer;
    Array<const double> unpack_buffer;
    Array<double> variables[extents::VARIABLES];
};

} // namespace

__global__ void pack(double* __restrict__ buffer, const std::int32_t* __restrict__ list,
                     const double* __restrict__ variable, size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        buffer[i] = variable[list[i]];
    }
}

__global__ void unpack(double* __restrict__ variable, const std::int32_t* __restrict__ list,
                       const double* __restrict__ buffer, size_t n) {
    const size_t i = gpu::index();
    if (i < n) {
        variable[list[i]] = buffer[i];
    }
}

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const auto halo = extents::halo(problem->size);
    int status = IRONSWEEP_OK;
    for (const auto& neighbour : halo.neighbours) {
        for (size_t v = 0; v < extents::VARIABLES && status == IRONSWEEP_OK; ++v) {
            status = gpu::launch_items(
                pack, *problem, neighbour.length, given.pack_buffer.data + neighbour.buffer + v * neighbour.length,
                given.pack_lists.data + neighbour.list, given.variables[v].data, neighbour.length);
        }
    }
    for (const auto& neighbour : halo.neighbours) {
        for (size_t v = 0; v < extents::VARIABLES && status == IRONSWEEP_OK; ++v) {
            status = gpu::launch_items(
                unpack, *problem, neighbour.length, given.variables[v].data, given.unpack_lists.data + neighbour.list,
                given.unpack_buffer.data + neighbour.buffer + v * neighbour.length, neighbour.length);
        }
    }
    return status;
}
