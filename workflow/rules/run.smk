# Where numbers come from: one job a system and kernel runs all of its points and writes a record for each.
#
# A kernel that fails to build, crashes or hangs is a result (a record with its status, exit code 0). Any other exit
# code is a failure of the infrastructure, which the Slurm profile tries again; what was measured until then stays in
# the journal and is taken over, as are records of earlier runs whose program, part and toolchain are still the same.


rule run_kernel:
    input:
        points="results/plan/{system}/{kernel}.points.jsonl",
        binaries=lambda wildcards: [
            f"results/bin/{wildcards.kernel}/{file}" for file in PLAN.binaries(wildcards.kernel)
        ],
        runtime="results/toolchain/runtime/run",
        toolchain="results/toolchain/toolchain.json",
        runner="workflow/scripts/ironsweep/runner.py",
    output:
        records="results/records/{system}/{kernel}.jsonl",
        dumps=directory("results/dumps/{system}/{kernel}"),
    log:
        "results/logs/run/{system}/{kernel}.log",
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
        runtime=configuration.resource_of(SYSTEMS, "runtime"),
    params:
        journal="results/journal/{system}/{kernel}.jsonl",
        timeout_s=SETTINGS.timeout_s,
        emulator=(
            f"--emulator 'python -m ironsweep.emulator --checkout {SETTINGS.emulator}'" if SETTINGS.emulator else ""
        ),
    message:
        "Measuring {wildcards.kernel} on {wildcards.system}"
    shell:
        "PYTHONPATH=workflow/scripts python -m ironsweep.runner --points {input.points} --bin results/bin"
        " --runtime {input.runtime} --toolchain {input.toolchain} --threads {threads} --timeout {params.timeout_s}"
        " {params.emulator} --journal {params.journal} --dumps {output.dumps} --out {output.records} --log {log}"
