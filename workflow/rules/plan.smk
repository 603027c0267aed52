# What is measured: the plan (made when the workflow is parsed, see ironsweep/plan.py) as files.
#
# `digest` stands for the content: a plan file is written anew when its own content changes, and only then.


from ironsweep import contents


localrules:
    cells,
    plan,
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


rule plan:
    input:
        rules.cells.output,
    log:
        "results/logs/plan/plan.log",
    message:
        "Printing what the sweep contains"
    run:
        print(contents.report(PLAN, SETTINGS))


# `snakemake plan` is answered here, as `snakemake doctor` is: nothing else is said, and --cores need not be.
if "plan" in sys.argv[1:]:
    Path("results/plan").mkdir(parents=True, exist_ok=True)
    Path("results/plan/cells.csv").write_text(PLAN.csv())
    print(contents.report(PLAN, SETTINGS))
    print("every cell: results/plan/cells.csv")
    sys.exit()
