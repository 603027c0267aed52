# What is measured: the plan (made when the workflow is parsed, see ironsweep/plan.py) as files.
#
# `digest` stands for the content: a plan file is written anew when its own content changes, and only then.


localrules:
    cells,
    points,


rule cells:
    output:
        "results/plan/cells.csv",
    log:
        "results/logs/plan/cells.log",
    params:
        digest=digest(PLAN.csv()),
    message:
        "Writing the plan: {output}"
    run:
        Path(output[0]).write_text(PLAN.csv())


rule points:
    output:
        "results/plan/{system}/{kernel}.points.jsonl",
    log:
        "results/logs/plan/{system}/{kernel}.log",
    params:
        digest=lambda wildcards: digest(PLAN.points(wildcards.system, wildcards.kernel)),
    message:
        "Writing the points of {wildcards.kernel} on {wildcards.system}"
    run:
        Path(output[0]).write_text(PLAN.points(wildcards.system, wildcards.kernel))
