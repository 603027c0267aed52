// Writes down every call of the CUDA driver that a program makes, with its time: what a runtime does for one launch.
//
//   clang -O2 -shared -fPIC driver_trace.c -o driver_trace.so
//   LD_PRELOAD=$PWD/driver_trace.so DRIVER_TRACE=calls.csv program
//
// Runtimes look the driver's functions up by name (dlsym), so a dlsym of our own hands out wrappers. All arguments of the
// driver's functions are integers or pointers, which one kind of wrapper passes on whatever their number. Lines are
// kept in memory until the program ends: writing them must not slow down what is being timed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FUNCTIONS = 64, CALLS = 1 << 20 };

typedef uintptr_t word;
typedef word (*function)(word, word, word, word, word, word, word, word, word, word, word, word);

static function original[FUNCTIONS];
static char names[FUNCTIONS][64];
static int number_of_functions;
static struct {
    uint64_t begin, end;
    int function;
} calls[CALLS];
static int number_of_calls;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static word traced(int index, word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k,
                   word l) {
    const uint64_t begin = now();
    const word result = original[index](a, b, c, d, e, f, g, h, i, j, k, l);
    const uint64_t end = now();
    const int call = __atomic_fetch_add(&number_of_calls, 1, __ATOMIC_RELAXED);
    if (call < CALLS) {
        calls[call].begin = begin;
        calls[call].end = end;
        calls[call].function = index;
    }
    return result;
}

// A function of its own for each wrapper: its number is all that tells which one was called.
#define WRAPPER(n)                                                                                                     \
    static word wrapper_##n(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k,    \
                            word l) {                                                                                  \
        return traced(n, a, b, c, d, e, f, g, h, i, j, k, l);                                                          \
    }
#define EIGHT(of, m) of(m##0) of(m##1) of(m##2) of(m##3) of(m##4) of(m##5) of(m##6) of(m##7)
#define ALL(of) EIGHT(of, 0) EIGHT(of, 01) EIGHT(of, 02) EIGHT(of, 03) EIGHT(of, 04) EIGHT(of, 05) EIGHT(of, 06) EIGHT(of, 07)
ALL(WRAPPER)
#define NAME(n) wrapper_##n,
static const function wrappers[FUNCTIONS] = {ALL(NAME)};

static void write_down(void) {
    const char* path = getenv("DRIVER_TRACE");
    FILE* file = fopen(path ? path : "driver_trace.csv", "w");
    if (!file) {
        return;
    }
    fprintf(file, "begin_ns,duration_ns,function\n");
    const int count = number_of_calls < CALLS ? number_of_calls : CALLS;
    for (int call = 0; call < count; ++call) {
        fprintf(file, "%llu,%llu,%s\n", (unsigned long long)(calls[call].begin - calls[0].begin),
                (unsigned long long)(calls[call].end - calls[call].begin), names[calls[call].function]);
    }
    fclose(file);
}

void* dlsym(void* library, const char* name) {
    static void* (*real)(void*, const char*);
    if (!real) {
        real = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        atexit(write_down);
    }
    if (library == RTLD_NEXT) {
        // "Next" is meant from the caller on: without a jump it would be from here on, and libomp would find itself.
        __attribute__((musttail)) return real(library, name);
    }
    void* found = real(library, name);
    // cuGetProcAddress hands out further functions; the runtimes of LLVM do without it.
    if (!found || strncmp(name, "cu", 2) != 0 || name[2] < 'A' || name[2] > 'Z' || number_of_functions == FUNCTIONS) {
        return found;
    }
    for (int index = 0; index < number_of_functions; ++index) {
        if (strcmp(names[index], name) == 0) {
            return (void*)wrappers[index];
        }
    }
    const int index = number_of_functions++;
    original[index] = (function)found;
    snprintf(names[index], sizeof names[index], "%s", name);
    return (void*)wrappers[index];
}
