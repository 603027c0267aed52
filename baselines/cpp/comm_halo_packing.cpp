// Comm_HALO_PACKING: gathers what a cube's 26 neighbours get into buffers, and scatters what came from them, each in a
// loop for each neighbour and variable.
#include "../extents.h"
#include "../ironsweep.h"

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

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const auto halo = extents::halo(problem->size);
#pragma omp parallel
    {
        for (const auto& neighbour : halo.neighbours) {
            for (size_t v = 0; v < extents::VARIABLES; ++v) {
                const std::int32_t* __restrict__ list = given.pack_lists.data + neighbour.list;
                const double* __restrict__ variable = given.variables[v].data;
                double* __restrict__ buffer = given.pack_buffer.data + neighbour.buffer + v * neighbour.length;
#pragma omp for schedule(static) nowait
                for (size_t i = 0; i < neighbour.length; ++i) {
                    buffer[i] = variable[list[i]];
                }
            }
        }
#pragma omp barrier
        for (const auto& neighbour : halo.neighbours) {
            for (size_t v = 0; v < extents::VARIABLES; ++v) {
                const std::int32_t* __restrict__ list = given.unpack_lists.data + neighbour.list;
                double* __restrict__ variable = given.variables[v].data;
                const double* __restrict__ buffer = given.unpack_buffer.data + neighbour.buffer + v * neighbour.length;
#pragma omp for schedule(static) nowait
                for (size_t i = 0; i < neighbour.length; ++i) {
                    variable[list[i]] = buffer[i];
                }
            }
        }
    }
    return IRONSWEEP_OK;
}
