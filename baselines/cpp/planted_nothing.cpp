// Planted_NOTHING: Stream_TRIAD that does nothing. Every run contains it, and must find its result wrong.
#include "../ironsweep.h"

int ironsweep_repetition(const void*, const ironsweep_problem*) { return IRONSWEEP_OK; }
