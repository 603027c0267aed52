// The runtime of cuda and hip: the first device, one stream.
#include "gpu.h"

#include <cstdio>
#include <cstring>

gpu::Stream gpu::stream = nullptr;

namespace {

char error[512] = "";

// Page-locked memory for the result of a reduction, which every repetition fetches: the driver need not stage it.
constexpr size_t STAGING_SIZE = 64;
void* staging = nullptr;

template <size_t SIZE, typename... Values>
void print(char (&text)[SIZE], const char* format, Values... values) {
    std::snprintf(text, SIZE, format, values...);
}

#ifdef __HIP__

constexpr char VARIANT[] = "hip";
constexpr char VENDOR[] = "amd";
constexpr char DRIVER_FILE[] = "/sys/module/amdgpu/version";
constexpr char API[] = "HIP";
constexpr char COMPILER[] = "clang " __clang_version__;

using Properties = hipDeviceProp_t;

struct Version {
    int major, minor;
    explicit Version(int number) : major(number / 10000000), minor(number / 100000 % 100) {}
};

int allocate_page_locked(void** pointer, size_t size) {
    return GPU_CALL(HostMalloc, pointer, size, hipHostMallocDefault);
}

int describe(const Properties& properties, int ordinal, ironsweep_device& device) {
    print(device.arch, "%s", properties.gcnArchName);
    // The bytes are the id's hexadecimal digits, as rocminfo prints it.
    hipUUID id;
    const int status = GPU_CALL(DeviceGetUuid, &id, ordinal);
    if (status == IRONSWEEP_OK) {
        print(device.uid, "GPU-%.16s", id.bytes);
    }
    return status;
}

#else

#define TEXT(...) #__VA_ARGS__
#define VERSION_TEXT(major, minor, build) TEXT(major.minor.build)

constexpr char VARIANT[] = "cuda";
constexpr char VENDOR[] = "nvidia";
constexpr char DRIVER_FILE[] = "/sys/module/nvidia/version";
constexpr char API[] = "CUDA";
constexpr char COMPILER[] = "nvcc " VERSION_TEXT(__CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__);

using Properties = cudaDeviceProp;

struct Version {
    int major, minor;
    explicit Version(int number) : major(number / 1000), minor(number / 10 % 100) {}
};

int allocate_page_locked(void** pointer, size_t size) {
    return GPU_CALL(HostAlloc, pointer, size, cudaHostAllocDefault);
}

int describe(const Properties& properties, int, ironsweep_device& device) {
    print(device.arch, "sm_%d%d", properties.major, properties.minor);
    // As nvidia-smi prints it.
    unsigned char id[sizeof properties.uuid.bytes];
    std::memcpy(id, properties.uuid.bytes, sizeof id);
    print(device.uid, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", id[0], id[1], id[2],
          id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12], id[13], id[14], id[15]);
    return IRONSWEEP_OK;
}

#endif

// The driver's own version where the system tells it, and the version of the API that it serves.
int describe_driver(ironsweep_device& device) {
    int number = 0;
    const int status = GPU_CALL(DriverGetVersion, &number);
    const Version version(number);
    char name[32] = "";
    if (std::FILE* file = std::fopen(DRIVER_FILE, "r")) {
        if (std::fscanf(file, "%31s", name) != 1) {
            name[0] = '\0';
        }
        std::fclose(file);
    }
    const char* space = name[0] == '\0' ? "" : " ";
    print(device.driver, "%s%s(%s %d.%d)", name, space, API, version.major, version.minor);
    return status;
}

int open_first(ironsweep_device& device) {
    constexpr int ORDINAL = 0;
    Properties properties;
    int status = GPU_CALL(SetDevice, ORDINAL);
    if (status == IRONSWEEP_OK) {
        status = GPU_CALL(GetDeviceProperties, &properties, ORDINAL);
    }
    if (status == IRONSWEEP_OK) {
        print(device.name, "%s", properties.name);
        print(device.vendor, "%s", VENDOR);
        device.multiprocessors = static_cast<size_t>(properties.multiProcessorCount);
        device.threads = 1;
        status = describe(properties, ORDINAL, device);
    }
    if (status == IRONSWEEP_OK) {
        status = describe_driver(device);
    }
    if (status == IRONSWEEP_OK) {
        status = GPU_CALL(StreamCreateWithFlags, &gpu::stream, GPU(StreamNonBlocking));
    }
    if (status == IRONSWEEP_OK) {
        status = allocate_page_locked(&staging, STAGING_SIZE);
    }
    return status;
}

} // namespace

int gpu::check(Error result, const char* function) {
    if (result == GPU(Success)) {
        return IRONSWEEP_OK;
    }
    print(error, "%s: %s (%s)", function, GPU(GetErrorString)(result), GPU(GetErrorName)(result));
    // Else the next launch would report this error as its own.
    static_cast<void>(GPU(GetLastError)());
    return result == GPU_OUT_OF_MEMORY ? IRONSWEEP_OUT_OF_MEMORY : IRONSWEEP_FAULT;
}

const char* ironsweep_variant() { return VARIANT; }

const char* ironsweep_version() {
    static char text[256];
    int number = 0;
    if (GPU_CALL(RuntimeGetVersion, &number) != IRONSWEEP_OK) {
        return COMPILER;
    }
    const Version version(number);
    print(text, "%s %d.%d, %s", API, version.major, version.minor, COMPILER);
    return text;
}

bool ironsweep_asynchronous() { return true; }

const char* ironsweep_error() { return error; }

int ironsweep_open(const char* vendor, ironsweep_device* device) {
    *device = {};
    if (std::strcmp(vendor, VENDOR) != 0) {
        print(error, "%s runs on %s, not on %s", VARIANT, VENDOR, vendor);
        return IRONSWEEP_WRONG_DEVICE;
    }
    int count = 0;
    // Without a driver the call fails, without a device it may also succeed.
    if (GPU_CALL(GetDeviceCount, &count) != IRONSWEEP_OK) {
        return IRONSWEEP_WRONG_DEVICE;
    }
    if (count == 0) {
        print(error, "no %s device", VENDOR);
        return IRONSWEEP_WRONG_DEVICE;
    }
    return open_first(*device);
}

int ironsweep_allocate(void** pointer, size_t size) { return GPU_CALL(Malloc, pointer, size); }

int ironsweep_free(void* pointer) { return GPU_CALL(Free, pointer); }

int ironsweep_write(void* to, const void* from, size_t size) {
    return GPU_CALL(MemcpyAsync, to, from, size, GPU(MemcpyHostToDevice), gpu::stream);
}

int ironsweep_read(void* to, const void* from, size_t size) {
    const bool small = size <= STAGING_SIZE;
    int status = GPU_CALL(MemcpyAsync, small ? staging : to, from, size, GPU(MemcpyDeviceToHost), gpu::stream);
    if (status == IRONSWEEP_OK) {
        status = ironsweep_synchronise();
    }
    if (status == IRONSWEEP_OK && small) {
        std::memcpy(to, staging, size);
    }
    return status;
}

int ironsweep_copy(void* to, const void* from, size_t size) {
    return GPU_CALL(MemcpyAsync, to, from, size, GPU(MemcpyDeviceToDevice), gpu::stream);
}

int ironsweep_synchronise() { return GPU_CALL(StreamSynchronize, gpu::stream); }
