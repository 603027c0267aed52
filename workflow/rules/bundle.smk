# Measuring on a machine without compilers: `snakemake bundle` makes one archive for it, `snakemake import` takes in
# the file of records that comes back.

import re

IMPORT_NAME = config.get("name") or re.sub(r"[^\w-]+", "_", Path(config.get("records", "NAME")).name.split(".")[0])

# Records of a planned system are this run's own.
if "records" in config and IMPORT_NAME in SYSTEMS:
    sys.exit(f"ironsweep: name: {IMPORT_NAME} is a system of this sweep; call the import otherwise: --config name=...")


if BUNDLE_SETTINGS:
    BUNDLE_SYSTEM = BUNDLE_SETTINGS.systems[0].name

    rule bundle_points:
        output:
            f"results/bundle/{BUNDLE_SYSTEM}.points.jsonl",
        log:
            "results/logs/bundle/points.log",
        localrule: True
        params:
            digest=lambda wildcards: digest(bundle_plan().all_points()),
        message:
            f"Writing the points of the bundle for system {BUNDLE_SYSTEM}"
        run:
            Path(output[0]).write_text(bundle_plan().all_points())

    rule pack_bundle:
        input:
            points=rules.bundle_points.output,
            binaries=lambda wildcards: sorted(
                {f"results/bin/{file}" for files in bundle_plan().binaries.values() for file in files}
            ),
            runtime="results/toolchain/runtime/run",
            toolchain="results/toolchain/toolchain.json",
            runner="workflow/scripts/ironsweep/runner.py",
        output:
            archive=f"results/bundle/ironsweep-{BUNDLE_SYSTEM}.tar.xz",
            digest=f"results/bundle/ironsweep-{BUNDLE_SYSTEM}.tar.xz.sha256",
        log:
            "results/logs/bundle/pack.log",
        localrule: True
        conda:
            "../envs/ironsweep.yaml"
        threads: 4
        params:
            system=BUNDLE_SYSTEM,
            timeout_s=BUNDLE_SETTINGS.timeout_s,
            runtime=subpath(input.runtime, parent=True),
            source=source.FILE,
        message:
            "Packing {output.archive}: takes a minute or two"
        shell:
            "PYTHONPATH=workflow/scripts python -m ironsweep.bundle pack --system {params.system}"
            " --timeout {params.timeout_s} --points {input.points} --bin results/bin --runtime {params.runtime}"
            " --toolchain {input.toolchain} --source {params.source} --archive {output.archive} --binaries {input.binaries} 2>&1 | tee {log}"

    rule bundle:
        input:
            rules.pack_bundle.output,
        localrule: True


# Its name is given apart because `import` is a word of Python, which formatters of this file stumble over.
rule import_records:
    name:
        "import"
    input:
        records=lambda wildcards: (
            config.get("records")
            or sys.exit("ironsweep: which file is to be taken in? Say: snakemake import --config records=FILE")
        ),
    output:
        records=f"results/imported/{IMPORT_NAME}.jsonl",
        dumps=directory(f"results/imported/{IMPORT_NAME}.dumps"),
    log:
        f"results/logs/import/{IMPORT_NAME}.log",
    localrule: True
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Taking in {input.records}"
    shell:
        "PYTHONPATH=workflow/scripts python -m ironsweep.bundle take --records {input.records:q}"
        " --out {output.records} --dumps {output.dumps} 2>&1 | tee {log}"
