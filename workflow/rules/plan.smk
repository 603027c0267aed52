# What is measured: the cells and the batches in which they run (see ironsweep/batches.py).
#
# They are made when the workflow is parsed, and kept in results/plan: nothing is planned in a job, nothing twice.


from ironsweep import contents

# `snakemake plan` is answered here, as `snakemake doctor` is: nothing else is said, and --cores need not be.
if "plan" in sys.argv[1:]:
    print(contents.report(plan(), SETTINGS))
    print(contents.batches_report(INDEX))
    print("every cell: results/plan/cells.csv")
    sys.exit()
