# The RAJA Performance Suite's own files: our cells in its layouts, and its times beside our cells.

import json
import re

RAJAPERF_NAME = config.get("name") or re.sub(r"[^\w-]+", "_", Path(config.get("rajaperf", "NAME")).resolve().name)

if "rajaperf" in config and RAJAPERF_NAME in SYSTEMS:
    sys.exit(f"ironsweep: name: {RAJAPERF_NAME} is a system of this sweep; call it otherwise: --config name=...")

# What was taken in, and the folder that this call names.
RAJAPERF_IMPORTS = sorted(
    {path.stem for path in Path("results/imported/rajaperf").glob("*.parquet")}
    | ({RAJAPERF_NAME} if "rajaperf" in config else set())
)

RAJAPERF_TABLES = expand("results/tables/rajaperf/{system}", system=[*SYSTEMS, *IMPORTS]) + (
    expand("results/tables/rajaperf_{table}.{format}", table=["imported", "compared"], format=["csv", "parquet"])
    if RAJAPERF_IMPORTS
    else []
)


rule rajaperf:
    input:
        RAJAPERF_TABLES,
    localrule: True


rule rajaperf_export:
    input:
        cells="results/tables/cells.parquet",
        records=lambda wildcards: [str(entry.records) for entry in INDEX.batches if entry.system == wildcards.system],
        imported=lambda wildcards: expand(
            "results/imported/{name}.jsonl", name=[name for name in IMPORTS if name == wildcards.system]
        ),
        references="workflow/resources/rajaperf_reference_checksums.csv",
        script="workflow/scripts/rajaperf.py",
        sources=expand(
            "workflow/scripts/ironsweep/{module}.py",
            module=["columns", "comparison", "judge", "rajaperf", "rajaperf_import", "records"],
        ),
    output:
        directory("results/tables/rajaperf/{system}"),
    log:
        "results/logs/rajaperf/{system}.log",
    localrule: True
    conda:
        "../envs/ironsweep.yaml"
    params:
        baseline=json.dumps(dict(SETTINGS.baseline)),
    message:
        "Writing the cells of {wildcards.system} as RAJAPerf would"
    shell:
        "python {input.script} export --system {wildcards.system} --cells {input.cells} --records {input.records}"
        " --imported {input.imported} --references {input.references} --baseline {params.baseline:q}"
        " --out {output} > {log} 2>&1"


rule import_rajaperf:
    input:
        files=lambda wildcards: (
            sorted(
                str(path)
                for pattern in ("*-timing-*.csv", "*-kernel*.csv", "ironsweep.yaml")
                for path in Path(config["rajaperf"]).rglob(pattern)
            )
            if "rajaperf" in config
            else sys.exit(
                "ironsweep: what is to be taken in? Say: snakemake import_rajaperf --config rajaperf=FOLDER,"
                " the folder into which RAJAPerf wrote"
            )
        ),
        script="workflow/scripts/rajaperf.py",
    output:
        f"results/imported/rajaperf/{RAJAPERF_NAME}.parquet",
    log:
        f"results/logs/import/rajaperf-{RAJAPERF_NAME}.log",
    localrule: True
    conda:
        "../envs/ironsweep.yaml"
    params:
        folder=config.get("rajaperf", ""),
        name=RAJAPERF_NAME,
    message:
        "Taking in what RAJAPerf wrote into {params.folder}"
    shell:
        "python {input.script} take --folder {params.folder:q} --name {params.name} --out {output} 2>&1 | tee {log}"


rule rajaperf_compare:
    input:
        cells="results/tables/cells.parquet",
        records=[str(entry.records) for entry in INDEX.batches],
        imported=expand("results/imported/{name}.jsonl", name=IMPORTS),
        taken=expand("results/imported/rajaperf/{name}.parquet", name=RAJAPERF_IMPORTS),
        script="workflow/scripts/rajaperf.py",
        sources=rules.rajaperf_export.input.sources,
    output:
        expand("results/tables/rajaperf_{table}.{format}", table=["imported", "compared"], format=["csv", "parquet"]),
    log:
        "results/logs/rajaperf_compare.log",
    localrule: True
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Putting RAJAPerf's times beside our cells"
    shell:
        "python {input.script} compare --taken {input.taken} --cells {input.cells} --records {input.records}"
        " --imported {input.imported} --out results/tables > {log} 2>&1"
