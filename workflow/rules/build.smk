# From source to programs, kernel by kernel:
#
#   core -> launch layer -> bitcode -> optimised ┬-> device images ┬-> launcher ┐   (images for each architecture)
#                                                │                 └------------┼-> what the workers load
#   a baseline's runtime and kernel --------------------------------------------┘
#   launch layer with the bench driver -> workers
#
# All of it is made for every tuning: with and without bounds checks (safety), with and without fused operations
# (contraction). One job makes all tunings of a kernel and architecture; the words `$safety` and `$contraction` are the
# shell's, in the loops that build.each writes.
#
# Each step runs through scripts/attempt.py: if it fails, its outputs hold a failure note, which later steps pass on, and
# the cells that need them are `build_failed` or `unsupported`. @name@ stands for a path of the toolchain.

TOOLS = "results/toolchain/bin"

BASELINES = build.baselines(SETTINGS.archs, SETTINGS.host_cpu)
ARCHS = [arch for archs in SETTINGS.archs.values() for arch in archs]
SAFETIES, CONTRACTIONS = build.SAFETIES, build.CONTRACTIONS


wildcard_constraints:
    arch=r"host|(sm_|gfx)\w+",
    gpu=r"(sm_|gfx)\w+",
    nvidia_arch=r"sm_\w+",
    amd_arch=r"gfx\w+",
    target=r"[\w-]+",
    program="|".join(build.PROGRAMS),
    baseline="|".join(BASELINES),
    contraction="|".join(CONTRACTIONS),


# Compilers are where snakemake is started; only measurements go to a cluster's nodes.
localrules:
    core,
    host_core,
    device_layer,
    device_bitcode,
    optimise,
    nvidia_images,
    amd_images,
    host_images,
    codegen,
    launch_layer,
    launchers,
    bench_layer,
    worker,
    baseline_runtime,
    baseline,


rule core:
    input:
        tools=TOOLS,
        script="workflow/scripts/core.sh",
    output:
        core="results/build/core/{gpu}/lib/rustlib/{target}/lib/libcore.rlib",
        builtins="results/build/core/{gpu}/lib/rustlib/{target}/lib/libcompiler_builtins.rlib",
    log:
        "results/logs/build/core/{gpu}-{target}.log",
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Compiling Rust's core library for {wildcards.gpu} (half a minute)"
    shell:
        build.attempt(
            "core",
            "rustc rust_src",
            "sh {input.script} {input.tools}/rustc @rust_src@ {output} --target {wildcards.target}"
            " -Ctarget-cpu={wildcards.gpu}",
        )


rule host_core:
    input:
        tools=TOOLS,
        script="workflow/scripts/host_core.sh",
    output:
        build.core_libraries("host"),
    log:
        "results/logs/build/core/host.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        folder=subpath(output[0], parent=True),
    message:
        "Copying Rust's core library for the host"
    shell:
        build.attempt("host_core", "rustc", "sh {input.script} {input.tools} {params.folder}")


rule device_layer:
    input:
        core=lambda wildcards: build.core_libraries(wildcards.arch),
        source="kernels/launch/lib.rs",
        sources=files_in("kernels/launch", "*.rs", "device/*.rs"),
        tools=TOOLS,
    output:
        expand("results/build/layer/{{arch}}-{safety}/libironsweep.rlib", safety=SAFETIES),
    log:
        expand("results/logs/build/layer/{{arch}}-{safety}.log", safety=SAFETIES),
    conda:
        "../envs/ironsweep.yaml"
    params:
        target=lambda wildcards: build.target_flags(wildcards.arch, SETTINGS.host_cpu),
        rustc=build.RUSTC,
    message:
        "Compiling the launch layer for {wildcards.arch}"
    shell:
        build.each(
            [
                build.attempt(
                    "device_layer",
                    "rustc",
                    "{input.tools}/rustc {params.rustc} {params.target} --crate-name ironsweep --crate-type rlib"
                    " --cfg device --cfg $safety {input.source}"
                    " -o results/build/layer/{wildcards.arch}-$safety/libironsweep.rlib",
                    log="results/logs/build/layer/{wildcards.arch}-$safety.log",
                    outputs="results/build/layer/{wildcards.arch}-$safety/libironsweep.rlib",
                )
            ],
            safety=SAFETIES,
        )


rule device_bitcode:
    input:
        kernel=lambda wildcards: KERNELS[wildcards.kernel].file,
        layers=expand("results/build/layer/{{arch}}-{safety}/libironsweep.rlib", safety=SAFETIES),
        core=lambda wildcards: build.core_libraries(wildcards.arch),
        tools=TOOLS,
    output:
        expand("results/build/bitcode/{{kernel}}/{{arch}}-{safety}.bc", safety=SAFETIES),
    log:
        expand("results/logs/build/bitcode/{{kernel}}/{{arch}}-{safety}.log", safety=SAFETIES),
    conda:
        "../envs/ironsweep.yaml"
    params:
        target=lambda wildcards: build.target_flags(wildcards.arch, SETTINGS.host_cpu),
        rustc=build.RUSTC,
        kernel=lambda wildcards: build.device_kernel(wildcards.arch),
    message:
        "Compiling {wildcards.kernel} for {wildcards.arch}"
    shell:
        build.each(
            [
                "layer=results/build/layer/{wildcards.arch}-$safety/libironsweep.rlib",
                "bitcode=results/build/bitcode/{wildcards.kernel}/{wildcards.arch}-$safety.bc",
                build.attempt(
                    "device_bitcode",
                    "rustc",
                    "{input.tools}/rustc {params.rustc} {params.kernel} {params.target} --crate-type cdylib"
                    " --emit=llvm-bc -Clto=fat --extern ironsweep=$layer"
                    " {input.kernel} -o $bitcode",
                    log="results/logs/build/bitcode/{wildcards.kernel}/{wildcards.arch}-$safety.log",
                    inputs="$layer {input.core}",
                    outputs="$bitcode",
                ),
            ],
            safety=SAFETIES,
        )


# Entry points begin with the name of the kernel's file; everything else becomes internal, and what is not used goes.
rule optimise:
    input:
        bitcode=rules.device_bitcode.output,
        shims=lambda wildcards: build.shims(wildcards.arch),
        tools=TOOLS,
    output:
        linked=expand("results/build/linked/{{kernel}}/{{arch}}-{safety}.bc", safety=SAFETIES),
        optimised=expand("results/build/optimised/{{kernel}}/{{arch}}-{safety}.ll", safety=SAFETIES),
    log:
        expand(
            "results/logs/build/{step}/{{kernel}}/{{arch}}-{safety}.log", step=["linked", "optimised"], safety=SAFETIES
        ),
    conda:
        "../envs/ironsweep.yaml"
    params:
        stem=lambda wildcards: KERNELS[wildcards.kernel].stem,
        libraries=lambda wildcards: build.math_libraries(wildcards.arch),
        needs=lambda wildcards: build.math_needs(wildcards.arch),
        cpu=lambda wildcards: build.cpu(wildcards.arch, SETTINGS.host_cpu),
    message:
        "Linking {wildcards.kernel} for {wildcards.arch} with the device's math library, and optimising"
    shell:
        build.each(
            [
                "file={wildcards.kernel}/{wildcards.arch}-$safety",
                build.attempt(
                    "link_math_library",
                    "llvm-link {params.needs}",
                    "{input.tools}/llvm-link results/build/bitcode/$file.bc --internalize --only-needed {input.shims}"
                    " {params.libraries} -o results/build/linked/$file.bc",
                    log="results/logs/build/linked/$file.log",
                    inputs="results/build/bitcode/$file.bc",
                    outputs="results/build/linked/$file.bc",
                ),
                build.attempt(
                    "optimise",
                    "opt",
                    "{input.tools}/opt -passes='internalize,default<O3>' -internalize-public-api-list='{params.stem}*'"
                    " -mcpu={params.cpu} -S results/build/linked/$file.bc -o results/build/optimised/$file.ll",
                    log="results/logs/build/optimised/$file.log",
                    inputs="results/build/linked/$file.bc",
                    outputs="results/build/optimised/$file.ll",
                ),
            ],
            safety=SAFETIES,
        )


rule nvidia_images:
    input:
        optimised=expand("results/build/optimised/{{kernel}}/{{nvidia_arch}}-{safety}.ll", safety=SAFETIES),
        tools=TOOLS,
    output:
        assembly=expand(
            "results/build/assembly/{{kernel}}/{{nvidia_arch}}-{safety}-{contraction}.ptx",
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
        images=expand(
            "results/bin/{{kernel}}/images/{{nvidia_arch}}-{safety}-{contraction}.img",
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
    log:
        expand(
            "results/logs/build/{step}/{{kernel}}/{{nvidia_arch}}-{safety}-{contraction}.log",
            step=["assembly", "image"],
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
    conda:
        "../envs/ironsweep.yaml"
    params:
        llc=build.LLC,
        ptxas=build.PTXAS,
    message:
        "Generating code of {wildcards.kernel} for {wildcards.nvidia_arch}"
    shell:
        build.each(
            [
                "optimised=results/build/optimised/{wildcards.kernel}/{wildcards.nvidia_arch}-$safety.ll",
                "assembly=results/build/assembly/{wildcards.kernel}/{wildcards.nvidia_arch}-$safety-$contraction.ptx",
                "image=results/bin/{wildcards.kernel}/images/{wildcards.nvidia_arch}-$safety-$contraction.img",
                "log={wildcards.kernel}/{wildcards.nvidia_arch}-$safety-$contraction.log",
                "if [ $contraction = strict ]; then llc={params.llc[strict]} ptxas={params.ptxas[strict]};"
                " else llc={params.llc[contract]} ptxas={params.ptxas[contract]}; fi",
                build.attempt(
                    "nvidia_assembly",
                    "llc",
                    "{input.tools}/llc -mcpu={wildcards.nvidia_arch} $llc $optimised -o $assembly",
                    log="results/logs/build/assembly/$log",
                    inputs="$optimised",
                    outputs="$assembly",
                ),
                build.attempt(
                    "nvidia_image",
                    "ptxas",
                    "{input.tools}/ptxas -arch={wildcards.nvidia_arch} $ptxas $assembly -o $image",
                    log="results/logs/build/image/$log",
                    inputs="$assembly",
                    outputs="$image",
                ),
            ],
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        )


rule amd_images:
    input:
        optimised=expand("results/build/optimised/{{kernel}}/{{amd_arch}}-{safety}.ll", safety=SAFETIES),
        tools=TOOLS,
    output:
        objects=expand(
            "results/build/object/{{kernel}}/{{amd_arch}}-{safety}-{contraction}.o",
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
        images=expand(
            "results/bin/{{kernel}}/images/{{amd_arch}}-{safety}-{contraction}.img",
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
    log:
        expand(
            "results/logs/build/{step}/{{kernel}}/{{amd_arch}}-{safety}-{contraction}.log",
            step=["object", "image"],
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
    conda:
        "../envs/ironsweep.yaml"
    params:
        llc=build.LLC,
    message:
        "Generating code of {wildcards.kernel} for {wildcards.amd_arch}"
    shell:
        build.each(
            [
                "optimised=results/build/optimised/{wildcards.kernel}/{wildcards.amd_arch}-$safety.ll",
                "object=results/build/object/{wildcards.kernel}/{wildcards.amd_arch}-$safety-$contraction.o",
                "image=results/bin/{wildcards.kernel}/images/{wildcards.amd_arch}-$safety-$contraction.img",
                "log={wildcards.kernel}/{wildcards.amd_arch}-$safety-$contraction.log",
                "if [ $contraction = strict ]; then llc={params.llc[strict]}; else llc={params.llc[contract]}; fi",
                build.attempt(
                    "amd_object",
                    "llc",
                    "{input.tools}/llc -mcpu={wildcards.amd_arch} $llc -filetype=obj $optimised -o $object",
                    log="results/logs/build/object/$log",
                    inputs="$optimised",
                    outputs="$object",
                ),
                build.attempt(
                    "amd_image",
                    "ld.lld",
                    "{input.tools}/ld.lld -shared --no-undefined $object -o $image",
                    log="results/logs/build/image/$log",
                    inputs="$object",
                    outputs="$image",
                ),
            ],
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        )


# For x86 LLVM looks only at the operations: each says for itself whether it may become part of a fused one.
rule host_images:
    input:
        optimised=expand("results/build/optimised/{{kernel}}/host-{safety}.ll", safety=SAFETIES),
        tools=TOOLS,
    output:
        ready=expand(
            "results/build/optimised/{{kernel}}/host-{safety}-{contraction}.ll",
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
        objects=expand(
            "results/build/object/{{kernel}}/host-{safety}-{contraction}.o",
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
        images=expand(
            "results/bin/{{kernel}}/images/host-{safety}-{contraction}.img",
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
    log:
        expand(
            "results/logs/build/{step}/{{kernel}}/host-{safety}-{contraction}.log",
            step=["object", "image"],
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
    conda:
        "../envs/ironsweep.yaml"
    params:
        cpu=SETTINGS.host_cpu,
        link=build.SHARED,
    message:
        "Generating code of {wildcards.kernel} for the host device"
    shell:
        build.each(
            [
                "optimised=results/build/optimised/{wildcards.kernel}/host-$safety",
                "object=results/build/object/{wildcards.kernel}/host-$safety-$contraction.o",
                "image=results/bin/{wildcards.kernel}/images/host-$safety-$contraction.img",
                "log={wildcards.kernel}/host-$safety-$contraction.log",
                "if [ $contraction = strict ]; then flag=; else flag='contract '; fi",
                'sed -E "s/ = (fadd|fsub|fmul|fneg) / = \\1 $flag/" $optimised.ll > $optimised-$contraction.ll',
                build.attempt(
                    "host_object",
                    "llc",
                    "{input.tools}/llc -mcpu={params.cpu} -relocation-model=pic -filetype=obj"
                    " $optimised-$contraction.ll -o $object",
                    log="results/logs/build/object/$log",
                    inputs="$optimised-$contraction.ll",
                    outputs="$object",
                ),
                build.attempt(
                    "host_image",
                    "clang ld.lld offload_libs",
                    "{input.tools}/clang {params.link} $object -lomp -o $image",
                    log="results/logs/build/image/$log",
                    inputs="$object",
                    outputs="$image",
                ),
            ],
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        )


rule codegen:
    input:
        images=expand(
            "results/bin/{{kernel}}/images/{{arch}}-{safety}-{contraction}.img",
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
        assembly=lambda wildcards: (
            expand(
                "results/build/assembly/{{kernel}}/{{arch}}-{safety}-{contraction}.ptx",
                safety=SAFETIES,
                contraction=CONTRACTIONS,
            )
            if build.vendor(wildcards.arch) == "nvidia"
            else []
        ),
        tools=TOOLS,
        script="workflow/scripts/codegen.py",
        sources=files_in("workflow/scripts/ironsweep", "codegen.py", "code_object.py"),
    output:
        expand(
            "results/codegen/{{kernel}}/{{arch}}-{safety}-{contraction}.json",
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
    log:
        "results/logs/build/codegen/{kernel}/{arch}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        stem=lambda wildcards: KERNELS[wildcards.kernel].stem,
        assembly=lambda wildcards: (
            f"--assembly results/build/assembly/{wildcards.kernel}/{wildcards.arch}-$safety-$contraction.ptx"
            if build.vendor(wildcards.arch) == "nvidia"
            else ""
        ),
    message:
        "Reading what the images of {wildcards.kernel} for {wildcards.arch} use"
    shell:
        build.each(
            [
                "python {input.script} --kernel {wildcards.kernel} --stem {params.stem} --arch {wildcards.arch}"
                " --safety $safety --contraction $contraction"
                " --image results/bin/{wildcards.kernel}/images/{wildcards.arch}-$safety-$contraction.img"
                " {params.assembly} --tools {input.tools}"
                " --out results/codegen/{wildcards.kernel}/{wildcards.arch}-$safety-$contraction.json"
            ],
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        )
        + " > {log} 2>&1"


rule launch_layer:
    input:
        core=build.core_libraries("host"),
        source="kernels/launch/lib.rs",
        sources=files_in("kernels/launch", "*.rs", "device/host.rs"),
        tools=TOOLS,
    output:
        "results/build/layer/launcher/libironsweep.rlib",
    log:
        "results/logs/build/layer/launcher.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        rustc=build.RUSTC,
        target=build.target_flags("host", SETTINGS.host_cpu),
    message:
        "Compiling the launch layer for std::offload's launches"
    shell:
        build.attempt(
            "launch_layer",
            "rustc",
            "{input.tools}/rustc {params.rustc} {params.target} --cfg launcher --crate-name ironsweep --crate-type rlib"
            " {input.source} -o {output}",
        )


# With the images of a tuning that could be built; those that could not are left out, so that one vendor's missing tools
# do not take the others' along.
rule launchers:
    input:
        kernel=lambda wildcards: KERNELS[wildcards.kernel].file,
        layer=rules.launch_layer.output,
        core=build.core_libraries("host"),
        images=expand(
            "results/bin/{{kernel}}/images/{arch}-{safety}-{contraction}.img",
            arch=ARCHS,
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
        tools=TOOLS,
        script="workflow/scripts/registration.py",
    output:
        objects=expand(
            "results/build/package/{{kernel}}/{safety}-{contraction}/images.o",
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
        launchers=expand(
            "results/bin/{{kernel}}/launch/{safety}-{contraction}.so", safety=SAFETIES, contraction=CONTRACTIONS
        ),
    log:
        expand(
            "results/logs/build/{step}/{{kernel}}/{safety}-{contraction}.log",
            step=["package", "launch"],
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        ),
    conda:
        "../envs/ironsweep.yaml"
    params:
        archs=ARCHS,
        rustc=build.RUSTC,
        target=build.target_flags("host", SETTINGS.host_cpu),
        launcher=build.LAUNCHER,
        link=build.LAUNCHER_LINK,
    message:
        "Building std::offload's launches of {wildcards.kernel} with the images"
    shell:
        build.each(
            [
                "package=results/build/package/{wildcards.kernel}/$safety-$contraction",
                "launcher=results/bin/{wildcards.kernel}/launch/$safety-$contraction.so",
                "log={wildcards.kernel}/$safety-$contraction.log",
                build.attempt(
                    "registration",
                    "llvm-offload-binary llvm-offload-wrapper clang",
                    "python {input.script} --tools {input.tools} --images results/bin/{wildcards.kernel}/images"
                    " --tuning $safety-$contraction --archs {params.archs} --out $package/images.o",
                    log="results/logs/build/package/$log",
                    inputs="",
                    outputs="$package/images.o",
                ),
                build.attempt(
                    "launcher",
                    "rustc clang ld.lld offload_libs",
                    "{input.tools}/rustc {params.rustc} {params.launcher} {params.target} --crate-type cdylib"
                    " {params.link} -Clink-arg=$package/images.o --extern ironsweep={input.layer} {input.kernel}"
                    " -o $launcher",
                    log="results/logs/build/launch/$log",
                    inputs="$package/images.o {input.layer} {input.core}",
                    outputs="$launcher",
                ),
            ],
            safety=SAFETIES,
            contraction=CONTRACTIONS,
        )


rule bench_layer:
    input:
        source="kernels/launch/lib.rs",
        sources=files_in("kernels/launch", "*.rs", "device/host.rs", "bench/*.rs"),
        tools=TOOLS,
    output:
        "results/build/layer/{program}/libironsweep.rlib",
    log:
        "results/logs/build/layer/{program}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        rustc=build.RUSTC,
        configuration=lambda wildcards: build.PROGRAMS[wildcards.program].configuration,
    message:
        "Compiling the bench driver for {wildcards.program}"
    shell:
        build.attempt(
            "bench_layer",
            "rustc",
            "{input.tools}/rustc {params.rustc} {params.configuration} --crate-name ironsweep --crate-type rlib"
            " {input.source} -o {output}",
        )


# The same for all tunings: what differs between them is what a worker loads.
rule worker:
    input:
        kernel=lambda wildcards: KERNELS[wildcards.kernel].file,
        layer="results/build/layer/{program}/libironsweep.rlib",
        tools=TOOLS,
    output:
        "results/bin/{kernel}/{program}",
    log:
        "results/logs/build/worker/{kernel}/{program}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        flags=f"{build.RUSTC} {build.KERNEL} -Clto=off",
        configuration=lambda wildcards: build.PROGRAMS[wildcards.program].configuration,
        link=lambda wildcards: f"{build.LINK} {build.PROGRAMS[wildcards.program].link}",
    message:
        "Building the worker {wildcards.program} of {wildcards.kernel}"
    shell:
        build.attempt(
            "worker",
            "rustc clang ld.lld offload_libs",
            "{input.tools}/rustc {params.flags} {params.configuration} --crate-type bin {params.link}"
            " --extern ironsweep={input.layer} {input.kernel} -o {output}",
        )


rule baseline_runtime:
    input:
        source=lambda wildcards: f"baselines/{BASELINES[wildcards.baseline].source}/runtime.cpp",
        headers=lambda wildcards: files_in("baselines", "*.h", f"{BASELINES[wildcards.baseline].source}/*.h"),
        tools=TOOLS,
    output:
        "results/build/baselines/{baseline}-{contraction}/runtime.o",
    log:
        "results/logs/build/baselines/{baseline}-{contraction}/runtime.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        tool=lambda wildcards: BASELINES[wildcards.baseline].tool,
        flags=lambda wildcards: BASELINES[wildcards.baseline].compile,
        contraction=lambda wildcards: BASELINES[wildcards.baseline].contraction[wildcards.contraction],
    message:
        "Compiling the runtime of {wildcards.baseline}, {wildcards.contraction}"
    shell:
        build.attempt(
            "baseline_runtime",
            "{params.tool}",
            "{input.tools}/{params.tool} {params.flags} {params.contraction} -c {input.source} -o {output}",
        )


# A kernel may have no baseline of a kind: the variant's cells are `unsupported`.
rule baseline:
    input:
        source=lambda wildcards: files_in(
            "baselines", f"{BASELINES[wildcards.baseline].source}/{KERNELS[wildcards.kernel].stem}.cpp"
        ),
        headers=lambda wildcards: files_in("baselines", "*.h", f"{BASELINES[wildcards.baseline].source}/*.h"),
        runtime=rules.baseline_runtime.output,
        tools=TOOLS,
    output:
        object="results/build/baselines/{baseline}-{contraction}/{kernel}.o",
        library="results/bin/{kernel}/baselines/{baseline}-{contraction}.so",
    log:
        object="results/logs/build/baselines/{baseline}-{contraction}/{kernel}.log",
        library="results/logs/build/library/{kernel}/{baseline}-{contraction}.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        tool=lambda wildcards: BASELINES[wildcards.baseline].tool,
        flags=lambda wildcards: BASELINES[wildcards.baseline].compile,
        contraction=lambda wildcards: BASELINES[wildcards.baseline].contraction[wildcards.contraction],
        absent=lambda wildcards, input: (
            ""
            if input.source
            else f"no baselines/{BASELINES[wildcards.baseline].source}/{KERNELS[wildcards.kernel].stem}.cpp"
        ),
        link=lambda wildcards: f"{build.SHARED} {BASELINES[wildcards.baseline].link}",
        needs=lambda wildcards: BASELINES[wildcards.baseline].needs,
    message:
        "Building {wildcards.kernel} as {wildcards.baseline}, {wildcards.contraction}"
    shell:
        build.attempt(
            "baseline_object",
            "{params.tool}",
            "{input.tools}/{params.tool} {params.flags} {params.contraction} -c {input.source} -o {output.object}",
            log="{log.object}",
            outputs="{output.object}",
            options="--absent={params.absent:q}",
        )
        + "; "
        + build.attempt(
            "baseline_library",
            "clang ld.lld offload_libs {params.needs}",
            "{input.tools}/clang {output.object} {input.runtime} {params.link} -o {output.library}",
            log="{log.library}",
            inputs="{output.object} {input.runtime}",
            outputs="{output.library}",
        )
