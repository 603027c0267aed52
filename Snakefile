# ironsweep: from Rust kernels to verified numbers. Read the rules in this order; it is the order in which data flows.


include: "workflow/rules/common.smk"
include: "workflow/rules/answers.smk"
include: "workflow/rules/toolchain.smk"
include: "workflow/rules/build.smk"
include: "workflow/rules/plan.smk"
include: "workflow/rules/run.smk"
include: "workflow/rules/bundle.smk"
include: "workflow/rules/aggregate.smk"
include: "workflow/rules/rajaperf.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/session.smk"


rule all:
    default_target: True
    input:
        "results/summary.txt",
        "results/claims.txt",
        "results/report.html",
        RAJAPERF_TABLES,
    message:
        "Everything is up to date"
