// What a baseline gives to the bench driver (kernels/launch/bench/native.rs): a runtime, once a language, and a
// kernel's launch, once a kernel. The driver does the rest: data, timing, checksums, the worker protocol.
#pragma once

#include <cstddef>

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

// Units of work, workgroups, threads in a workgroup.
struct ironsweep_dimensions {
    size_t items;
    size_t grid;
    size_t block;
};

// --- the runtime: functions that can fail return an ironsweep_status, and ironsweep_error() says why the last one did
// ---
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
int ironsweep_synchronise();

// --- the kernel: runs or enqueues one repetition. `arguments` points to the kernel's arguments in the order of its
// Rust file: an array is a pointer and a length, a scalar is 64 bits wide ---
int ironsweep_launch(const void* arguments, const ironsweep_dimensions* dimensions);
}

// An array argument.
template <typename T>
struct Array {
    T* data;
    size_t length;
};
