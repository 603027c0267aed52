// What a baseline gives to the bench driver (kernels/launch/bench/native.rs): a shared library of a runtime, written
// once a language, and of a kernel's repetition, written once a kernel. The driver does the rest: data, timing,
// checksums, the worker protocol.
#pragma once

#include <cstddef>

// The driver finds these by their names, whatever the compiler was told to hide.
#pragma GCC visibility push(default)
extern "C" {

enum ironsweep_status {
    IRONSWEEP_OK = 0,
    IRONSWEEP_OUT_OF_MEMORY = 1,
    IRONSWEEP_WRONG_DEVICE = 2,
    IRONSWEEP_FAULT = 3
};

struct ironsweep_device {
    char name[256];
    char uid[64];
    char vendor[16];
    char arch[64];
    char driver[64];
    size_t multiprocessors;
    size_t threads;
};

// What a repetition computes, and with what.
struct ironsweep_problem {
    // RAJAPerf's target size; extents.h says what a kernel makes of it.
    size_t size;
    // Threads in a workgroup; without a meaning on the host.
    size_t block;
    // 0 on the host.
    size_t multiprocessors;
};

// --- the runtime: functions that can fail return an ironsweep_status; ironsweep_error() says why the last one did ---
const char* ironsweep_variant();
const char* ironsweep_version();
// Whether a launch returns before the kernel has ended.
bool ironsweep_asynchronous();
const char* ironsweep_error();
// Opens the vendor's first device.
int ironsweep_open(const char* vendor, ironsweep_device* device);
int ironsweep_allocate(void** pointer, size_t size);
int ironsweep_free(void* pointer);
// Ordered with launches; done when the next launch runs.
int ironsweep_write(void* to, const void* from, size_t size);
// Ordered with launches; done when it returns.
int ironsweep_read(void* to, const void* from, size_t size);
// From device memory to device memory; ordered with launches; done when the next launch runs.
int ironsweep_copy(void* to, const void* from, size_t size);
int ironsweep_synchronise();

// --- the kernel: runs or enqueues one repetition. `arguments` points to the kernel's data in the order of its Rust
// file: an array is a pointer and a length, a scalar an f64 ---
int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem);
}
#pragma GCC visibility pop

// An array argument.
template <typename T>
struct Array {
    T* data;
    size_t length;
};
