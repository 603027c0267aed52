# From records to tables: golden results, and one row with a final status for every planned cell.

import json

# Records of other machines: those that were taken in, and the file that this call names.
IMPORTS = sorted(
    {path.stem for path in Path("results/imported").glob("*.jsonl")} | ({IMPORT_NAME} if "records" in config else set())
)

# The others are made from these.
TABLES = ["cells", "ratios", "noise", "geometric_means", "portability", "scaling", "codegen", "problems", "dictionary"]


localrules:
    golden,
    aggregate,


# Only what the existing file lacks is computed, so a further size costs no more than itself.
rule golden:
    input:
        plan="results/plan/cells.csv",
        imported=expand("results/imported/{name}.jsonl", name=IMPORTS),
        script="workflow/scripts/golden.py",
        sources=files_in("workflow/scripts/ironsweep", "checksum.py", "golden/*.py"),
    output:
        update("results/golden/{kernel}.json"),
    log:
        "results/logs/golden/{kernel}.log",
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Computing golden results of {wildcards.kernel}"
    shell:
        "python {input.script} --kernel {wildcards.kernel} --plan {input.plan} --imported {input.imported}"
        " --sources {input.sources} --out {output} > {log} 2>&1"


rule aggregate:
    input:
        plan="results/plan/cells.csv",
        records=[str(entry.records) for entry in INDEX.batches],
        # All that can be built: also what no device here would run has its row, which says whether it was built.
        programs=[f"results/bin/{program}.sha256" for program in INDEX.programs],
        imported=expand("results/imported/{name}.jsonl", name=IMPORTS),
        golden=expand("results/golden/{kernel}.json", kernel=KERNELS),
        references="workflow/resources/rajaperf_reference_checksums.csv",
        codegen=[
            f"results/codegen/{kernel.name}/{arch}-{safety}-{contraction}.json"
            for kernel in SETTINGS.all_kernels
            for arch in INDEX.archs.get(kernel.name, ())
            for safety in SAFETIES
            for contraction in CONTRACTIONS
        ],
        toolchain="results/toolchain/toolchain.json",
        columns="workflow/schemas/tables.yaml",
        script="workflow/scripts/aggregate.py",
        sources=files_in(
            "workflow/scripts/ironsweep",
            *("checksum.py", "golden/*.py"),
            *(
                f"{module}.py"
                for module in ("columns", "comparison", "efficiency", "judge", "planned", "records", "runner")
            ),
            *(f"{module}.py" for module in ("statistics", "tables", "variants")),
        ),
    output:
        expand(
            "results/tables/{table}.{format}",
            table=TABLES,
            format=["csv", "parquet"],
        ),
    log:
        "results/logs/aggregate.log",
    conda:
        "../envs/ironsweep.yaml"
    params:
        baseline=json.dumps(dict(SETTINGS.baseline)),
    message:
        "Judging results and writing tables"
    shell:
        "python {input.script} --plan {input.plan} --bin results/bin --records {input.records} --imported {input.imported}"
        " --golden {input.golden} --references {input.references} --codegen {input.codegen}"
        " --toolchain {input.toolchain} --baseline {params.baseline:q} --out results/tables > {log} 2>&1"
