// Planted_NOTHING: Stream_TRIAD that does nothing. Every run contains it, and must find its result wrong.
#include "gpu.h"

__global__ void nothing() {}

int ironsweep_launch(const void*, const ironsweep_dimensions* dimensions) { return gpu::launch(nothing, *dimensions); }
