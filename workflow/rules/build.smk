# From source to programs, kernel by kernel:
#
#   core -> launch layer -> bitcode -> linked bitcode -> device image ┐                      (for each architecture)
#                                                                     ├-> package -> worker  (for each kernel)
#   launch layer with the bench driver ───────────────────────────────┘
#   a baseline's runtime and kernel -> worker
#
# Each step runs through scripts/attempt.py: if it fails, its outputs hold a failure note, which later steps pass on, and
# the cells that need them are `build_failed` or `unsupported`. @name@ stands for a path of the toolchain.

TOOLS = "results/toolchain/bin"

# What a device architecture is called by rustc and by the packager.
TARGETS = {"nvidia": "nvptx64-nvidia-cuda", "amd": "amdgcn-amd-amdhsa", "host": "x86_64-unknown-linux-gnu"}

# Strict floating point everywhere: rustc contracts no a * b + c, so the baselines must not either.
RUSTC = f"{TOOLS}/rustc --edition 2024 -Copt-level=3 -Cpanic=abort -Ccodegen-units=1 -Dwarnings"
CXX = "-std=c++20 -O3 -Wall -Wextra -Werror -ffp-contract=off"

# The configuration of the launch layer in each Rust variant's worker, and what the worker is linked to.
RUNTIMES = {
    "rust_offload": {
        "cfg": "--cfg std_offload",
        # The kernel's call of the intrinsic becomes mappings and a launch in the link-time optimisation.
        "flags": "-Zunstable-options -Zoffload=Test -Zcrate-attr=feature(core_intrinsics) -Ainternal_features",
        # Without nostart-stop-gc the linker drops the table of entry points.
        "link": "-Clink-args=-Wl,-z,nostart-stop-gc -Clink-args=-lomptarget -Clink-args=-lomp -Clink-args=-lLLVMOffload",
    },
    "rust_liboffload": {"cfg": "--cfg liboffload", "link": "-Clink-args=-lLLVMOffload"},
    # The baselines' workers: what they launch is compiled apart.
    "native": {"cfg": "--cfg native"},
}

# How the baselines are compiled and linked.
BASELINES = {
    "cpp_seq": {
        "source": "cpp",
        "requires": "clang++",
        "compile": f"{TOOLS}/clang++ {CXX} -march={SETTINGS.host_cpu}",
        "link": "-Clink-args=-lstdc++",
    },
    "cpp_openmp": {
        "source": "cpp",
        "requires": "clang++",
        "compile": f"{TOOLS}/clang++ {CXX} -march={SETTINGS.host_cpu} -fopenmp=libomp",
        "link": "-Clink-args=-lstdc++ -Clink-args=-lomp",
    },
    "cuda": {
        "source": "gpu",
        "requires": "nvcc",
        "compile": f"{TOOLS}/nvcc -x cu -std=c++20 -O3 -fmad=false "
        + " ".join(f"-gencode arch={arch.replace('sm', 'compute')},code={arch}" for arch in SETTINGS.archs["nvidia"]),
        "link": "-Lnative=@cuda_libs@ -Clink-args=-lcudart_static -Clink-args=-lstdc++",
    },
    "hip": {
        "source": "gpu",
        "requires": "hipcc",
        "compile": f"{TOOLS}/hipcc -std=c++20 -O3 -ffp-contract=off "
        + " ".join(f"--offload-arch={arch}" for arch in SETTINGS.archs["amd"]),
        "link": "-Lnative=@hip_libs@ -Clink-args=-lamdhip64 -Clink-args=-lstdc++",
    },
}

LINKER = "-Clinker=@clang@ -Clink-args=-fuse-ld=lld -Lnative=@offload_libs@"


wildcard_constraints:
    arch=r"host|(sm_|gfx)\w+",
    nvidia_arch=r"sm_\w+",
    amd_arch=r"gfx\w+",
    target=r"[\w-]+",
    runtime="|".join(RUNTIMES),
    baseline="|".join(BASELINES),


localrules:
    core,


def attempt(requires, command):
    """The shell command of a build step that needs some tools: `command` is what follows them."""
    return (
        "python workflow/scripts/attempt.py --step {rule} --log {log} --requires "
        + requires
        + " --inputs {input} --outputs {output} -- "
        + command
    )


def vendor(arch):
    """The device that an architecture belongs to."""
    return next(device for device, archs in SETTINGS.archs.items() if arch in archs)


def core_libraries(wildcards):
    """The device's own `core`; the host's comes with the compiler."""
    if wildcards.arch == "host":
        return []
    folder = f"results/build/core/{wildcards.arch}/lib/rustlib/{TARGETS[vendor(wildcards.arch)]}/lib"
    return [f"{folder}/libcore.rlib", f"{folder}/libcompiler_builtins.rlib"]


def target_flags(wildcards):
    """What tells rustc to compile for an architecture."""
    if wildcards.arch == "host":
        return f"-Ctarget-cpu={SETTINGS.host_cpu}"
    return (
        f"--target {TARGETS[vendor(wildcards.arch)]} -Ctarget-cpu={wildcards.arch}"
        f" --sysroot results/build/core/{wildcards.arch}"
    )


def kernel_source(wildcards):
    return KERNELS[wildcards.kernel].file


# The entry point of a kernel is named as its file.
def entry_point(wildcards):
    return Path(KERNELS[wildcards.kernel].file).stem


rule core:
    input:
        tools=TOOLS,
    output:
        core="results/build/core/{arch}/lib/rustlib/{target}/lib/libcore.rlib",
        builtins="results/build/core/{arch}/lib/rustlib/{target}/lib/libcompiler_builtins.rlib",
    params:
        flags=lambda wildcards: f"--target {wildcards.target} -Ctarget-cpu={wildcards.arch}",
    log:
        "results/logs/build/core/{arch}-{target}.log",
    message:
        "Compiling Rust's core library for {wildcards.arch} (half a minute)"
    shell:
        attempt("rustc rust_src", "sh workflow/scripts/core.sh {input.tools}/rustc @rust_src@ {output} {params.flags}")


rule device_layer:
    input:
        core=core_libraries,
        source="kernels/launch/lib.rs",
        sources=files_in("kernels/launch", "*.rs", "device/*.rs"),
        tools=TOOLS,
    output:
        "results/build/layer/{arch}/libironsweep.rlib",
    params:
        flags=target_flags,
    log:
        "results/logs/build/layer/{arch}.log",
    message:
        "Compiling the launch layer for {wildcards.arch}"
    shell:
        attempt(
            "rustc",
            RUSTC + " --crate-name ironsweep --crate-type rlib --cfg device {params.flags} {input.source} -o {output}",
        )


rule device_bitcode:
    input:
        kernel=kernel_source,
        layer="results/build/layer/{arch}/libironsweep.rlib",
        core=core_libraries,
        tools=TOOLS,
    output:
        "results/build/bitcode/{kernel}/{arch}.bc",
    params:
        flags=target_flags,
    log:
        "results/logs/build/bitcode/{kernel}/{arch}.log",
    message:
        "Compiling {wildcards.kernel} for {wildcards.arch}"
    shell:
        attempt(
            "rustc",
            RUSTC
            + " --crate-type cdylib --emit=llvm-bc -Clto=fat --cfg device -Funsafe_code {params.flags}"
            + " -Zcrate-attr=no_std -Zcrate-attr='feature(abi_gpu_kernel)'"
            + " --extern ironsweep={input.layer} {input.kernel} -o {output}",
        )


rule link_nvidia_library:
    input:
        bitcode="results/build/bitcode/{kernel}/{nvidia_arch}.bc",
        shims="kernels/launch/device/nvptx64.ll",
        tools=TOOLS,
    output:
        "results/build/linked/{kernel}/{nvidia_arch}.bc",
    log:
        "results/logs/build/linked/{kernel}/{nvidia_arch}.log",
    message:
        "Linking {wildcards.kernel} with NVIDIA's math library for {wildcards.nvidia_arch}"
    shell:
        attempt(
            "llvm-link libdevice",
            "{input.tools}/llvm-link {input.bitcode} --internalize --only-needed {input.shims} @libdevice@ -o {output}",
        )


# The control constants say how AMD's math library computes: strictly, in wavefronts of 64.
rule link_amd_library:
    input:
        bitcode="results/build/bitcode/{kernel}/{amd_arch}.bc",
        shims="kernels/launch/device/amdgpu.ll",
        tools=TOOLS,
    output:
        "results/build/linked/{kernel}/{amd_arch}.bc",
    params:
        libraries=lambda wildcards: " ".join(
            f"@device_libs@/{name}.bc"
            for name in [
                "ocml",
                f"oclc_isa_version_{wildcards.amd_arch.removeprefix('gfx')}",
                "oclc_abi_version_500",
                "oclc_correctly_rounded_sqrt_on",
                "oclc_daz_opt_off",
                "oclc_finite_only_off",
                "oclc_unsafe_math_off",
                "oclc_wavefrontsize64_on",
            ]
        ),
    log:
        "results/logs/build/linked/{kernel}/{amd_arch}.log",
    message:
        "Linking {wildcards.kernel} with AMD's math library for {wildcards.amd_arch}"
    shell:
        attempt(
            "llvm-link device_libs",
            "{input.tools}/llvm-link {input.bitcode} --internalize --only-needed {input.shims} {params.libraries}"
            " -o {output}",
        )


rule optimise:
    input:
        bitcode="results/build/linked/{kernel}/{arch}.bc",
        tools=TOOLS,
    output:
        "results/build/optimised/{kernel}/{arch}.bc",
    params:
        entry=entry_point,
    log:
        "results/logs/build/optimised/{kernel}/{arch}.log",
    message:
        "Optimising {wildcards.kernel} for {wildcards.arch}"
    shell:
        attempt(
            "opt",
            "{input.tools}/opt -passes='internalize,default<O3>' -internalize-public-api-list={params.entry}"
            " -mcpu={wildcards.arch} {input.bitcode} -o {output}",
        )


rule nvidia_assembly:
    input:
        bitcode="results/build/optimised/{kernel}/{nvidia_arch}.bc",
        tools=TOOLS,
    output:
        "results/build/assembly/{kernel}/{nvidia_arch}.ptx",
    log:
        "results/logs/build/assembly/{kernel}/{nvidia_arch}.log",
    message:
        "Generating PTX of {wildcards.kernel} for {wildcards.nvidia_arch}"
    shell:
        attempt("llc", "{input.tools}/llc -mcpu={wildcards.nvidia_arch} {input.bitcode} -o {output}")


rule nvidia_image:
    input:
        assembly="results/build/assembly/{kernel}/{nvidia_arch}.ptx",
        tools=TOOLS,
    output:
        "results/bin/{kernel}/images/{nvidia_arch}.img",
    log:
        "results/logs/build/image/{kernel}/{nvidia_arch}.log",
    message:
        "Assembling {wildcards.kernel} for {wildcards.nvidia_arch}"
    shell:
        attempt("ptxas", "{input.tools}/ptxas -arch={wildcards.nvidia_arch} {input.assembly} -o {output}")


rule amd_object:
    input:
        bitcode="results/build/optimised/{kernel}/{amd_arch}.bc",
        tools=TOOLS,
    output:
        "results/build/object/{kernel}/{amd_arch}.o",
    log:
        "results/logs/build/object/{kernel}/{amd_arch}.log",
    message:
        "Generating machine code of {wildcards.kernel} for {wildcards.amd_arch}"
    shell:
        attempt("llc", "{input.tools}/llc -mcpu={wildcards.amd_arch} -filetype=obj {input.bitcode} -o {output}")


rule amd_image:
    input:
        objects="results/build/object/{kernel}/{amd_arch}.o",
        tools=TOOLS,
    output:
        "results/bin/{kernel}/images/{amd_arch}.img",
    log:
        "results/logs/build/image/{kernel}/{amd_arch}.log",
    message:
        "Linking the code object of {wildcards.kernel} for {wildcards.amd_arch}"
    shell:
        attempt("ld.lld", "{input.tools}/ld.lld -shared --no-undefined {input.objects} -o {output}")


rule host_image:
    input:
        kernel=kernel_source,
        layer="results/build/layer/host/libironsweep.rlib",
        tools=TOOLS,
    output:
        "results/bin/{kernel}/images/host.img",
    log:
        "results/logs/build/image/{kernel}/host.log",
    message:
        "Compiling {wildcards.kernel} for the host device"
    shell:
        attempt(
            "rustc clang ld.lld offload_libs",
            RUSTC
            + f" --crate-type cdylib -Clto=fat -Cstrip=symbols --cfg device -Funsafe_code -Ctarget-cpu={SETTINGS.host_cpu}"
            + f" {LINKER} -Clink-args=-lomp"
            + " --extern ironsweep={input.layer} {input.kernel} -o {output}",
        )


rule codegen:
    input:
        image="results/bin/{kernel}/images/{arch}.img",
        assembly=lambda wildcards: (
            "results/build/assembly/{kernel}/{arch}.ptx" if vendor(wildcards.arch) == "nvidia" else []
        ),
        tools=TOOLS,
        script="workflow/scripts/codegen.py",
        sources="workflow/scripts/ironsweep/codegen.py",
    output:
        "results/codegen/{kernel}/{arch}.json",
    params:
        entry=entry_point,
    log:
        "results/logs/build/codegen/{kernel}/{arch}.log",
    message:
        "Reading what the image of {wildcards.kernel} for {wildcards.arch} uses"
    shell:
        "python {input.script} --kernel {wildcards.kernel} --entry {params.entry} --arch {wildcards.arch}"
        " --image {input.image} --assembly {input.assembly} --tools {input.tools} --out {output} > {log} 2>&1"


rule package:
    input:
        image="results/bin/{kernel}/images/{arch}.img",
        tools=TOOLS,
    output:
        "results/build/package/{kernel}/{arch}.bin",
    params:
        target=lambda wildcards: TARGETS[vendor(wildcards.arch)],
    log:
        "results/logs/build/package/{kernel}/{arch}.log",
    message:
        "Packaging the image of {wildcards.kernel} for {wildcards.arch}"
    shell:
        attempt(
            "llvm-offload-binary",
            "{input.tools}/llvm-offload-binary -o {output}"
            " --image=file={input.image},triple={params.target},arch={wildcards.arch},kind=openmp",
        )


# All images that could be built; those that could not are left out, so that one vendor's missing tools do not take the
# others' worker away. Each image is a file of its own: of several in one, libomptarget sees the first.
rule registration:
    input:
        packages=lambda wildcards: expand(
            "results/build/package/{kernel}/{arch}.bin", kernel=wildcards.kernel, arch=PLAN.images(wildcards.kernel)
        ),
        tools=TOOLS,
        script="workflow/scripts/registration.py",
    output:
        bitcode="results/build/package/{kernel}/images.bc",
        object="results/build/package/{kernel}/images.o",
    log:
        "results/logs/build/package/{kernel}/registration.log",
    message:
        "Joining the images of {wildcards.kernel}"
    shell:
        "python workflow/scripts/attempt.py --step registration --log {log} --requires llvm-offload-wrapper clang"
        " --outputs {output} --"
        " python {input.script} --tools {input.tools} --packages {input.packages}"
        " --bitcode {output.bitcode} --object {output.object}"


rule bench_layer:
    input:
        source="kernels/launch/lib.rs",
        sources=files_in("kernels/launch", "*.rs", "device/host.rs", "bench/*.rs"),
        tools=TOOLS,
    output:
        "results/build/layer/{runtime}/libironsweep.rlib",
    params:
        cfg=lambda wildcards: RUNTIMES[wildcards.runtime]["cfg"],
    log:
        "results/logs/build/layer/{runtime}.log",
    message:
        "Compiling the bench driver for {wildcards.runtime}"
    shell:
        attempt(
            "rustc",
            RUSTC + " --crate-name ironsweep --crate-type rlib {params.cfg} {input.source} -o {output}",
        )


rule rust_offload_worker:
    input:
        kernel=kernel_source,
        layer="results/build/layer/rust_offload/libironsweep.rlib",
        images=rules.registration.output.object,
        tools=TOOLS,
    output:
        "results/bin/{kernel}/rust_offload",
    log:
        "results/logs/build/worker/{kernel}/rust_offload.log",
    message:
        "Building the std::offload worker of {wildcards.kernel}"
    shell:
        attempt(
            "rustc clang ld.lld offload_libs",
            RUSTC
            + " --crate-type bin -Clto=fat -Cstrip=symbols -Funsafe_code {RUNTIMES[rust_offload][cfg]} {RUNTIMES[rust_offload][flags]}"
            + f" {LINKER}"
            + " {RUNTIMES[rust_offload][link]} -Clink-arg={input.images}"
            + " --extern ironsweep={input.layer} {input.kernel} -o {output}",
        )


# Finds its images beside it when it runs.
rule rust_liboffload_worker:
    input:
        kernel=kernel_source,
        layer="results/build/layer/rust_liboffload/libironsweep.rlib",
        tools=TOOLS,
    output:
        "results/bin/{kernel}/rust_liboffload",
    log:
        "results/logs/build/worker/{kernel}/rust_liboffload.log",
    message:
        "Building the liboffload worker of {wildcards.kernel}"
    shell:
        attempt(
            "rustc clang ld.lld offload_libs",
            RUSTC
            + " --crate-type bin -Clto=off -Cstrip=symbols -Funsafe_code {RUNTIMES[rust_liboffload][cfg]}"
            + f" {LINKER}"
            + " {RUNTIMES[rust_liboffload][link]} --extern ironsweep={input.layer} {input.kernel} -o {output}",
        )


rule baseline_object:
    input:
        source=lambda wildcards: f"baselines/{BASELINES[wildcards.baseline]['source']}/{{part}}.cpp",
        headers=lambda wildcards: files_in("baselines", "*.h", f"{BASELINES[wildcards.baseline]['source']}/*.h"),
        tools=TOOLS,
    output:
        "results/build/baselines/{baseline}/{part}.o",
    params:
        requires=lambda wildcards: BASELINES[wildcards.baseline]["requires"],
        compile=lambda wildcards: BASELINES[wildcards.baseline]["compile"],
    log:
        "results/logs/build/baselines/{baseline}/{part}.log",
    message:
        "Compiling {input.source} as {wildcards.baseline}"
    shell:
        attempt("{params.requires}", "{params.compile} -c {input.source} -o {output}")


# The bench driver and the kernel's data are the Rust ones: a baseline is the kernel and its launch.
rule baseline_worker:
    input:
        kernel=kernel_source,
        layer="results/build/layer/native/libironsweep.rlib",
        objects=lambda wildcards: [
            f"results/build/baselines/{{baseline}}/{part}.o" for part in ["runtime", entry_point(wildcards)]
        ],
        tools=TOOLS,
    output:
        "results/bin/{kernel}/{baseline}",
    params:
        requires=lambda wildcards: BASELINES[wildcards.baseline]["requires"],
        objects=lambda wildcards, input: " ".join(f"-Clink-arg={file}" for file in input.objects),
        link=lambda wildcards: BASELINES[wildcards.baseline]["link"],
    log:
        "results/logs/build/worker/{kernel}/{baseline}.log",
    message:
        "Building the {wildcards.baseline} worker of {wildcards.kernel}"
    shell:
        attempt(
            "rustc clang ld.lld offload_libs {params.requires}",
            RUSTC
            + " --crate-type bin -Clto=off -Cstrip=symbols -Funsafe_code {RUNTIMES[native][cfg]}"
            + f" {LINKER}"
            + " {params.objects} {params.link} --extern ironsweep={input.layer} {input.kernel} -o {output}",
        )
