# From tables to what people look at.


localrules:
    decide_claims,
    claims,
    report_page,
    figures,
    summary,


rule figures:
    input:
        cells="results/tables/cells.parquet",
        ratios="results/tables/ratios.parquet",
        script="workflow/scripts/figures.py",
        sources=expand("workflow/scripts/ironsweep/{module}.py", module=["figures", "tables"]),
    output:
        report(directory("results/figures/{system}"), patterns=["{name}.svg"], category="{system}"),
    log:
        "results/logs/figures/{system}.log",
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Drawing the figures of {wildcards.system}"
    shell:
        "python {input.script} --system {wildcards.system} --cells {input.cells} --ratios {input.ratios}"
        " --out {output} > {log} 2>&1"


rule decide_claims:
    input:
        tables=expand("results/tables/{table}.parquet", table=["cells", "ratios"]),
        claims="config/claims.yaml",
        script="workflow/scripts/claims.py",
        sources=expand("workflow/scripts/ironsweep/{module}.py", module=["claims", "columns", "statistics"]),
    output:
        tables=expand("results/tables/claims.{format}", format=["csv", "parquet"]),
        text="results/claims.txt",
    log:
        "results/logs/claims.log",
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Deciding the claims of {input.claims}"
    shell:
        "python {input.script} --claims {input.claims} --tables results/tables --text {output.text} > {log} 2>&1"


# Without an output, so that it is printed each time.
rule claims:
    input:
        "results/claims.txt",
    log:
        "results/logs/claims_printed.log",
    conda:
        "../envs/ironsweep.yaml"
    message:
        "What became of the claims in config/claims.yaml:"
    shell:
        "tee {log} < {input}"


rule report_page:
    input:
        tables=expand(
            "results/tables/{table}.parquet", table=["cells", "ratios", "geometric_means", "claims", "problems"]
        ),
        figures=expand("results/figures/{system}", system=[*SYSTEMS, *IMPORTS]),
        records=[str(entry.records) for entry in INDEX.batches],
        imported=expand("results/imported/{name}.jsonl", name=IMPORTS),
        toolchain="results/toolchain/toolchain.json",
        template="workflow/report/report.html.j2",
        script="workflow/scripts/report.py",
        sources=expand("workflow/scripts/ironsweep/{module}.py", module=["columns", "report"]),
    output:
        "results/report.html",
    log:
        "results/logs/report.log",
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Writing {output}, which opens in any browser"
    shell:
        "python {input.script} --tables results/tables --figures {input.figures} --records {input.records}"
        " --imported {input.imported} --toolchain {input.toolchain} --out {output} > {log} 2>&1"


rule summary:
    input:
        cells="results/tables/cells.parquet",
        ratios="results/tables/ratios.parquet",
        figures=expand("results/figures/{system}", system=[*SYSTEMS, *IMPORTS]),
        script="workflow/scripts/summary.py",
        sources=expand("workflow/scripts/ironsweep/{module}.py", module=["figures", "summary", "tables"]),
    output:
        "results/summary.txt",
    log:
        "results/logs/summary.log",
    conda:
        "../envs/ironsweep.yaml"
    message:
        "Writing {output}"
    shell:
        "python {input.script} --tables results/tables --figures {input.figures} --out {output} > {log} 2>&1"
