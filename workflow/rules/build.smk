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

BASELINES = build.baselines(SETTINGS.archs, SETTINGS.host_cpu)


wildcard_constraints:
    arch=r"host|(sm_|gfx)\w+",
    nvidia_arch=r"sm_\w+",
    amd_arch=r"gfx\w+",
    target=r"[\w-]+",
    runtime="|".join(build.RUNTIMES),
    baseline="|".join(BASELINES),


# Compilers are where snakemake is started; only measurements go to a cluster's nodes.
localrules:
    core,
    device_layer,
    device_bitcode,
    link_nvidia_library,
    link_amd_library,
    optimise,
    nvidia_assembly,
    nvidia_image,
    amd_object,
    amd_image,
    host_image,
    codegen,
    package,
    registration,
    bench_layer,
    rust_offload_worker,
    rust_liboffload_worker,
    baseline_object,
    baseline_worker,


rule core:
    input:
        tools=TOOLS,
        script="workflow/scripts/core.sh",
    output:
        core="results/build/core/{arch}/lib/rustlib/{target}/lib/libcore.rlib",
        builtins="results/build/core/{arch}/lib/rustlib/{target}/lib/libcompiler_builtins.rlib",
    log:
        "results/logs/build/core/{arch}-{target}.log",
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Compiling Rust's core library for {wildcards.arch} (half a minute)"
    shell:
        build.attempt(
            "core",
            "rustc rust_src",
            "sh {input.script} {input.tools}/rustc @rust_src@ {output} --target {wildcards.target}"
            " -Ctarget-cpu={wildcards.arch}",
        )


rule device_layer:
    input:
        core=lambda wildcards: build.core_libraries(wildcards.arch),
        source="kernels/launch/lib.rs",
        sources=files_in("kernels/launch", "*.rs", "device/*.rs"),
        tools=TOOLS,
    output:
        "results/build/layer/{arch}/libironsweep.rlib",
    log:
        "results/logs/build/layer/{arch}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        target=lambda wildcards: build.target_flags(wildcards.arch, SETTINGS.host_cpu),
        rustc=build.RUSTC,
    message:
        "Compiling the launch layer for {wildcards.arch}"
    shell:
        build.attempt(
            "device_layer",
            "rustc",
            "{input.tools}/rustc {params.rustc} {params.target} --crate-name ironsweep --crate-type rlib --cfg device"
            " {input.source} -o {output}",
        )


rule device_bitcode:
    input:
        kernel=lambda wildcards: KERNELS[wildcards.kernel].file,
        layer="results/build/layer/{arch}/libironsweep.rlib",
        core=lambda wildcards: build.core_libraries(wildcards.arch),
        tools=TOOLS,
    output:
        "results/build/bitcode/{kernel}/{arch}.bc",
    log:
        "results/logs/build/bitcode/{kernel}/{arch}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        target=lambda wildcards: build.target_flags(wildcards.arch, SETTINGS.host_cpu),
        rustc=build.RUSTC,
        kernel=build.DEVICE_KERNEL,
    message:
        "Compiling {wildcards.kernel} for {wildcards.arch}"
    shell:
        build.attempt(
            "device_bitcode",
            "rustc",
            "{input.tools}/rustc {params.rustc} {params.kernel} {params.target} --crate-type cdylib --emit=llvm-bc"
            " -Clto=fat -Zcrate-attr='feature(abi_gpu_kernel)' --extern ironsweep={input.layer} {input.kernel}"
            " -o {output}",
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
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Linking {wildcards.kernel} with NVIDIA's math library for {wildcards.nvidia_arch}"
    shell:
        build.attempt(
            "link_nvidia_library",
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
    log:
        "results/logs/build/linked/{kernel}/{amd_arch}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        libraries=lambda wildcards: build.amd_libraries(wildcards.amd_arch),
    message:
        "Linking {wildcards.kernel} with AMD's math library for {wildcards.amd_arch}"
    shell:
        build.attempt(
            "link_amd_library",
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
    log:
        "results/logs/build/optimised/{kernel}/{arch}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        entry=lambda wildcards: KERNELS[wildcards.kernel].stem,
    message:
        "Optimising {wildcards.kernel} for {wildcards.arch}"
    shell:
        build.attempt(
            "optimise",
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
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Generating PTX of {wildcards.kernel} for {wildcards.nvidia_arch}"
    shell:
        build.attempt(
            "nvidia_assembly", "llc", "{input.tools}/llc -mcpu={wildcards.nvidia_arch} {input.bitcode} -o {output}"
        )


rule nvidia_image:
    input:
        assembly="results/build/assembly/{kernel}/{nvidia_arch}.ptx",
        tools=TOOLS,
    output:
        "results/bin/{kernel}/images/{nvidia_arch}.img",
    log:
        "results/logs/build/image/{kernel}/{nvidia_arch}.log",
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Assembling {wildcards.kernel} for {wildcards.nvidia_arch}"
    shell:
        build.attempt(
            "nvidia_image", "ptxas", "{input.tools}/ptxas -arch={wildcards.nvidia_arch} {input.assembly} -o {output}"
        )


rule amd_object:
    input:
        bitcode="results/build/optimised/{kernel}/{amd_arch}.bc",
        tools=TOOLS,
    output:
        "results/build/object/{kernel}/{amd_arch}.o",
    log:
        "results/logs/build/object/{kernel}/{amd_arch}.log",
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Generating machine code of {wildcards.kernel} for {wildcards.amd_arch}"
    shell:
        build.attempt(
            "amd_object",
            "llc",
            "{input.tools}/llc -mcpu={wildcards.amd_arch} -filetype=obj {input.bitcode} -o {output}",
        )


rule amd_image:
    input:
        objects="results/build/object/{kernel}/{amd_arch}.o",
        tools=TOOLS,
    output:
        "results/bin/{kernel}/images/{amd_arch}.img",
    log:
        "results/logs/build/image/{kernel}/{amd_arch}.log",
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Linking the code object of {wildcards.kernel} for {wildcards.amd_arch}"
    shell:
        build.attempt("amd_image", "ld.lld", "{input.tools}/ld.lld -shared --no-undefined {input.objects} -o {output}")


rule host_image:
    input:
        kernel=lambda wildcards: KERNELS[wildcards.kernel].file,
        layer="results/build/layer/host/libironsweep.rlib",
        tools=TOOLS,
    output:
        "results/bin/{kernel}/images/host.img",
    log:
        "results/logs/build/image/{kernel}/host.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        target=build.target_flags("host", SETTINGS.host_cpu),
        rustc=build.RUSTC,
        kernel=build.DEVICE_KERNEL,
        link=f"{build.LINK} -Clink-arg=-lomp",
    message:
        "Compiling {wildcards.kernel} for the host device"
    shell:
        build.attempt(
            "host_image",
            "rustc clang ld.lld offload_libs",
            "{input.tools}/rustc {params.rustc} {params.kernel} {params.target} --crate-type cdylib -Clto=fat"
            " {params.link} --extern ironsweep={input.layer} {input.kernel} -o {output}",
        )


rule codegen:
    input:
        image="results/bin/{kernel}/images/{arch}.img",
        assembly=lambda wildcards: (
            "results/build/assembly/{kernel}/{arch}.ptx" if build.vendor(wildcards.arch) == "nvidia" else []
        ),
        tools=TOOLS,
        script="workflow/scripts/codegen.py",
        sources="workflow/scripts/ironsweep/codegen.py",
    output:
        "results/codegen/{kernel}/{arch}.json",
    log:
        "results/logs/build/codegen/{kernel}/{arch}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        entry=lambda wildcards: KERNELS[wildcards.kernel].stem,
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
    log:
        "results/logs/build/package/{kernel}/{arch}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        target=lambda wildcards: build.target(wildcards.arch),
    message:
        "Packaging the image of {wildcards.kernel} for {wildcards.arch}"
    shell:
        build.attempt(
            "package",
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
    conda:
        "../envs/ironsweep.yaml"
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
    log:
        "results/logs/build/layer/{runtime}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        rustc=build.RUSTC,
        configuration=lambda wildcards: build.RUNTIMES[wildcards.runtime].configuration,
    message:
        "Compiling the bench driver for {wildcards.runtime}"
    shell:
        build.attempt(
            "bench_layer",
            "rustc",
            "{input.tools}/rustc {params.rustc} {params.configuration} --crate-name ironsweep --crate-type rlib"
            " {input.source} -o {output}",
        )


rule rust_offload_worker:
    input:
        kernel=lambda wildcards: KERNELS[wildcards.kernel].file,
        layer="results/build/layer/rust_offload/libironsweep.rlib",
        images=rules.registration.output.object,
        tools=TOOLS,
    output:
        "results/bin/{kernel}/rust_offload",
    log:
        "results/logs/build/worker/{kernel}/rust_offload.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        flags=f"{build.RUSTC} {build.KERNEL} {build.RUNTIMES['rust_offload'].configuration} {build.RUNTIMES['rust_offload'].worker}",
        link=f"{build.LINK} {build.RUNTIMES['rust_offload'].link}",
    message:
        "Building the rust_offload worker of {wildcards.kernel}"
    shell:
        build.attempt(
            "rust_offload_worker",
            "rustc clang ld.lld offload_libs",
            "{input.tools}/rustc {params.flags} --crate-type bin {params.link} -Clink-arg={input.images}"
            " --extern ironsweep={input.layer} {input.kernel} -o {output}",
        )


# Finds its images beside it when it runs.
rule rust_liboffload_worker:
    input:
        kernel=lambda wildcards: KERNELS[wildcards.kernel].file,
        layer="results/build/layer/rust_liboffload/libironsweep.rlib",
        tools=TOOLS,
    output:
        "results/bin/{kernel}/rust_liboffload",
    log:
        "results/logs/build/worker/{kernel}/rust_liboffload.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        flags=f"{build.RUSTC} {build.KERNEL} {build.RUNTIMES['rust_liboffload'].configuration} {build.RUNTIMES['rust_liboffload'].worker}",
        link=f"{build.LINK} {build.RUNTIMES['rust_liboffload'].link}",
    message:
        "Building the rust_liboffload worker of {wildcards.kernel}"
    shell:
        build.attempt(
            "rust_liboffload_worker",
            "rustc clang ld.lld offload_libs",
            "{input.tools}/rustc {params.flags} --crate-type bin {params.link}"
            " --extern ironsweep={input.layer} {input.kernel} -o {output}",
        )


# A kernel may have no baseline of a kind: the variant's cells are `unsupported`.
rule baseline_object:
    input:
        source=lambda wildcards: files_in("baselines", f"{BASELINES[wildcards.baseline].source}/{wildcards.part}.cpp"),
        headers=lambda wildcards: files_in("baselines", "*.h", f"{BASELINES[wildcards.baseline].source}/*.h"),
        tools=TOOLS,
    output:
        "results/build/baselines/{baseline}/{part}.o",
    log:
        "results/logs/build/baselines/{baseline}/{part}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        tool=lambda wildcards: BASELINES[wildcards.baseline].tool,
        flags=lambda wildcards: BASELINES[wildcards.baseline].compile,
        absent=lambda wildcards, input: (
            "" if input.source else f"no baselines/{BASELINES[wildcards.baseline].source}/{wildcards.part}.cpp"
        ),
    message:
        "Compiling {wildcards.part} as {wildcards.baseline}"
    shell:
        build.attempt(
            "baseline_object",
            "{params.tool}",
            "{input.tools}/{params.tool} {params.flags} -c {input.source} -o {output}",
            options="--absent={params.absent:q}",
        )


# The bench driver and the kernel's data are the Rust ones: a baseline is the kernel and its launch.
rule baseline_worker:
    input:
        kernel=lambda wildcards: KERNELS[wildcards.kernel].file,
        layer="results/build/layer/native/libironsweep.rlib",
        runtime="results/build/baselines/{baseline}/runtime.o",
        baseline=lambda wildcards: f"results/build/baselines/{wildcards.baseline}/{KERNELS[wildcards.kernel].stem}.o",
        tools=TOOLS,
    output:
        "results/bin/{kernel}/{baseline}",
    log:
        "results/logs/build/worker/{kernel}/{baseline}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        flags=f"{build.RUSTC} {build.KERNEL} {build.RUNTIMES['native'].configuration} {build.RUNTIMES['native'].worker}",
        link=lambda wildcards: f"{build.LINK} {BASELINES[wildcards.baseline].link}",
        needs=lambda wildcards: BASELINES[wildcards.baseline].needs,
    message:
        "Building the {wildcards.baseline} worker of {wildcards.kernel}"
    shell:
        build.attempt(
            "baseline_worker",
            "rustc clang ld.lld offload_libs {params.needs}",
            "{input.tools}/rustc {params.flags} --crate-type bin -Clink-arg={input.baseline} -Clink-arg={input.runtime}"
            " {params.link} --extern ironsweep={input.layer} {input.kernel} -o {output}",
        )
