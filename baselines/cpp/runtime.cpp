// The runtime of cpp_seq and cpp_openmp: the memory of this process, on the cores that run it.
#include "../ironsweep.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace {

// A cache line, and the width of the widest vector register.
constexpr size_t ALIGNMENT = 64;

char error[256] = "";

template <typename... Values>
int fail(ironsweep_status status, const char* format, Values... values) {
    std::snprintf(error, sizeof error, format, values...);
    return status;
}

size_t threads() {
#ifdef _OPENMP
    return static_cast<size_t>(omp_get_max_threads());
#else
    return 1;
#endif
}

// The processor's name, as the kernel tells it.
template <size_t SIZE>
void cpu_model(char (&name)[SIZE]) {
    std::snprintf(name, SIZE, "host");
    std::FILE* file = std::fopen("/proc/cpuinfo", "r");
    if (file == nullptr) {
        return;
    }
    char line[512];
    while (std::fgets(line, sizeof line, file) != nullptr) {
        const char* colon = std::strchr(line, ':');
        if (std::strncmp(line, "model name", 10) == 0 && colon != nullptr) {
            const char* model = colon + 1 + std::strspn(colon + 1, " \t");
            std::snprintf(name, SIZE, "%.*s", static_cast<int>(std::strcspn(model, "\n")), model);
            break;
        }
    }
    std::fclose(file);
}

} // namespace

const char* ironsweep_variant() {
#ifdef _OPENMP
    return "cpp_openmp";
#else
    return "cpp_seq";
#endif
}

const char* ironsweep_version() {
#ifdef _OPENMP
    static char version[256];
    std::snprintf(version, sizeof version, "%s, OpenMP %d", __VERSION__, _OPENMP);
    return version;
#else
    return __VERSION__;
#endif
}

bool ironsweep_asynchronous() { return false; }

const char* ironsweep_error() { return error; }

int ironsweep_open(const char* vendor, ironsweep_device* device) {
    if (std::strcmp(vendor, "host") != 0) {
        return fail(IRONSWEEP_WRONG_DEVICE, "%s runs on host, not on %s", ironsweep_variant(), vendor);
    }
    *device = {};
    cpu_model(device->name);
    std::snprintf(device->vendor, sizeof device->vendor, "host");
    std::snprintf(device->arch, sizeof device->arch, "host");
    device->threads = threads();
    return IRONSWEEP_OK;
}

int ironsweep_allocate(void** pointer, size_t size) {
    if (size > SIZE_MAX - ALIGNMENT) {
        return fail(IRONSWEEP_OUT_OF_MEMORY, "cannot allocate %zu bytes", size);
    }
    const size_t padded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    auto* words = static_cast<double*>(std::aligned_alloc(ALIGNMENT, padded));
    if (words == nullptr) {
        return fail(IRONSWEEP_OUT_OF_MEMORY, "cannot allocate %zu bytes", size);
    }
    // A page belongs to the memory of the core that touches it first: share them out as the kernels share out elements.
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < padded / sizeof(double); ++i) {
        words[i] = 0.0;
    }
    *pointer = words;
    return IRONSWEEP_OK;
}

int ironsweep_free(void* pointer) {
    std::free(pointer);
    return IRONSWEEP_OK;
}

int ironsweep_write(void* to, const void* from, size_t size) {
    std::memcpy(to, from, size);
    return IRONSWEEP_OK;
}

int ironsweep_read(void* to, const void* from, size_t size) {
    std::memcpy(to, from, size);
    return IRONSWEEP_OK;
}

int ironsweep_copy(void* to, const void* from, size_t size) {
    std::memcpy(to, from, size);
    return IRONSWEEP_OK;
}

int ironsweep_synchronise() { return IRONSWEEP_OK; }
