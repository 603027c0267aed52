# Where numbers come from: one job a batch runs all of its points and writes a record for each.
#
# A kernel that fails to build, crashes or hangs is a result (a record with its status, exit code 0). Any other exit
# code is a failure of the infrastructure, which the Slurm profile tries again; what was measured until then stays in
# the journals and is taken over, as are records of earlier runs whose program, part and toolchain are still the same.


# What a batch depends on: the content of programs, so that one that was built anew and is the same changes nothing.
rule program:
    input:
        lambda wildcards: [
            f"results/bin/{file}" for file in INDEX.binaries["{kernel}/{variant}-{arch}".format(**wildcards)]
        ],
    output:
        "results/bin/{kernel}/{variant}-{arch}.sha256",
    log:
        "results/logs/program/{kernel}/{variant}-{arch}.log",
    localrule: True
    conda:
        "../envs/ironsweep.yaml"
    message:
        "{wildcards.kernel}, {wildcards.variant} for {wildcards.arch} is built"
    shell:
        "sha256sum {input} > {output} 2> {log}"


rule run_batch:
    input:
        batch="results/plan/batches/{batch}.jsonl",
        programs=lambda wildcards: [
            f"results/bin/{program}.sha256" for program in INDEX.entry(wildcards.batch).programs
        ],
        runtime="results/toolchain/runtime/run",
        toolchain="results/toolchain/toolchain.json",
    output:
        records="results/records/{system}/{batch}.jsonl",
        dumps=directory("results/dumps/{system}/{batch}"),
    log:
        "results/logs/run/{system}/{batch}.log",
    conda:
        "../envs/ironsweep.yaml"
    # Locally all cores, so that nothing runs beside a measurement.
    threads: configuration.threads_of(SYSTEMS, lambda: workflow.cores)
    resources:
        slurm_partition=configuration.resource_of(SYSTEMS, "slurm_partition"),
        slurm_account=configuration.resource_of(SYSTEMS, "slurm_account"),
        gres=configuration.resource_of(SYSTEMS, "gres"),
        constraint=configuration.resource_of(SYSTEMS, "constraint"),
        qos=configuration.resource_of(SYSTEMS, "qos"),
        slurm_extra=configuration.resource_of(SYSTEMS, "slurm_extra"),
        mem_mb=configuration.resource_of(SYSTEMS, "mem_mb"),
        runtime=lambda wildcards, attempt: batches.minutes_of(
            INDEX.entry(wildcards.batch), SYSTEMS[wildcards.system], SETTINGS.timeout_s, attempt
        ),
    params:
        preparation=configuration.preparation_of(SYSTEMS),
        journal="results/journal/{system}/{batch}",
        earlier=lambda wildcards: batches.journals_before(INDEX.entry(wildcards.batch)),
        timeout_s=SETTINGS.timeout_s,
        source=source.FILE,
        emulator=(
            f"--emulator 'python -m ironsweep.emulator --checkout {SETTINGS.emulator}'" if SETTINGS.emulator else ""
        ),
    message:
        "Measuring batch {wildcards.batch} on {wildcards.system}"
    shell:
        "{params.preparation}PYTHONPATH=workflow/scripts python -m ironsweep.batch --batch {input.batch} --bin results/bin"
        " --runtime {input.runtime} --toolchain {input.toolchain} --source {params.source} --threads {threads} --timeout {params.timeout_s}"
        " {params.emulator} --journal {params.journal} {params.earlier} --dumps {output.dumps} --out {output.records}"
        " --log {log}"
