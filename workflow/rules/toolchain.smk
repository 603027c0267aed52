# The toolchain: exact package versions -> a folder with these packages (the root) -> the tools as toolchain.json and
# bin/ -> the runtime that built programs run with. A toolchain of kind `path` starts at the tools of this machine.
#
# What is large can lie in another folder (`toolchain_dir`) and be shared by several checkouts.

import sys

from ironsweep import doctor
from ironsweep.errors import UserError
from ironsweep.toolchain import cuda, settings

TOOLCHAIN_DIR = SETTINGS.toolchain_dir
try:
    TOOLCHAIN = settings.read(Path(SETTINGS.toolchain))
except UserError as error:
    sys.exit(f"ironsweep: {error}")
HAS_ROOT = TOOLCHAIN.kind == "debian"


# They are short, and they need the network, which compute nodes often lack.
localrules:
    toolchain_lock,
    toolchain_root,
    toolchain_cuda,
    toolchain,
    toolchain_runtime,
    doctor,


if HAS_ROOT:

    rule toolchain_lock:
        input:
            settings=SETTINGS.toolchain,
            frozen=TOOLCHAIN.lock or [],
        output:
            lock=f"{TOOLCHAIN_DIR}/debian.lock",
        log:
            "results/logs/toolchain/lock.log",
        conda:
            "../envs/ironsweep.yaml"
        message:
            "Looking up the exact versions of the toolchain's packages"
        shell:
            "python workflow/scripts/toolchain_lock.py --toolchain {input.settings} --lock {output.lock}"
            " 2>&1 | tee {log}"

    # The root lies beside its record. It is no output: it is kept when this rule runs again for the same lock.
    rule toolchain_root:
        input:
            settings=SETTINGS.toolchain,
            lock=rules.toolchain_lock.output.lock,
        output:
            record=f"{TOOLCHAIN_DIR}/root.json",
        log:
            "results/logs/toolchain/root.log",
        conda:
            "../envs/ironsweep.yaml"
        message:
            "Installing the toolchain's packages (once; takes one to three minutes)"
        shell:
            "python workflow/scripts/toolchain_root.py --toolchain {input.settings} --lock {input.lock}"
            " --record {output.record} --log {log} 2>&1 | tee -a {log}"


# `found` makes the rule run again when a CUDA toolkit appears on PATH or goes away.
rule toolchain_cuda:
    input:
        settings=SETTINGS.toolchain,
        requirements="requirements/cuda.txt",
    output:
        record=f"{TOOLCHAIN_DIR}/cuda.json",
    log:
        "results/logs/toolchain/cuda.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        found=str(cuda.on_path()),
    message:
        "Looking for NVIDIA's compiler"
    shell:
        "python workflow/scripts/toolchain_cuda.py --toolchain {input.settings} --requirements {input.requirements}"
        " --record {output.record} --log {log} 2>&1 | tee -a {log}"


rule toolchain:
    input:
        settings=SETTINGS.toolchain,
        cuda=rules.toolchain_cuda.output.record,
        lock=rules.toolchain_lock.output.lock if HAS_ROOT else [],
        root=rules.toolchain_root.output.record if HAS_ROOT else [],
    output:
        description="results/toolchain/toolchain.json",
        enter="results/toolchain/enter",
        tools=directory("results/toolchain/bin"),
    log:
        "results/logs/toolchain/toolchain.log",
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Describing the toolchain in {output.description}"
    shell:
        "python workflow/scripts/toolchain_describe.py --toolchain {input.settings} --cuda {input.cuda}"
        " --lock {input.lock} --output {output.description} 2>&1 | tee {log}"


rule toolchain_runtime:
    input:
        description=rules.toolchain.output.description,
    output:
        run="results/toolchain/runtime/run",
        libraries=directory("results/toolchain/runtime/lib"),
    log:
        "results/logs/toolchain/runtime.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        runtime=subpath(output.run, parent=True),
    message:
        "Collecting the loader and libraries that built programs run with"
    shell:
        "python workflow/scripts/toolchain_runtime.py --toolchain {input.description} --runtime {params.runtime}"
        " 2>&1 | tee {log}"


rule doctor:
    log:
        "results/logs/toolchain/doctor.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        toolchain=SETTINGS.toolchain,
    message:
        "Looking at what this machine has"
    shell:
        "python workflow/scripts/doctor.py --toolchain {params.toolchain} 2>&1 | tee {log}"


# `snakemake doctor` is answered here, while the workflow is read: as a job it would need --cores, and its lines would
# drown in the log.
if "doctor" in sys.argv[1:]:
    print("\n".join(doctor.report(Path("."), TOOLCHAIN)))
    sys.exit()
