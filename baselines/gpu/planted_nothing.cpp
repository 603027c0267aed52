// Planted_NOTHING: Stream_TRIAD that does nothing. Every run contains it, and must find its result wrong.
#include "gpu.h"

__global__ void nothing() {}

int ironsweep_repetition(const void*, const ironsweep_problem* problem) {
    return gpu::launch_items(nothing, *problem, problem->size);
}
