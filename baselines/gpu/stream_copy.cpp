// Stream_COPY: c[i] = a[i].
#include "gpu.h"

namespace {

struct Arguments {
    Array<const double> a;
    Array<double> c;
};

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    // The driver's own copy: what the device's memory can do.
    return GPU_CALL(MemcpyAsync, given.c.data, given.a.data, problem->size * sizeof(double), GPU(MemcpyDeviceToDevice),
                    gpu::stream);
}
