# Questions about results: answered while the workflow is read, as `snakemake plan` is, so that nothing else is said and
# --cores need not be. Each ends the process; that of `compare` tells by its exit code whether anything became worse.

if "explain" in sys.argv[1:]:
    from ironsweep import explain

    try:
        cell = as_written(sys.argv[1:], "cell")
        print(explain.chain(cell or sys.exit("ironsweep: which cell? Say: snakemake explain --config cell=ID")))
    except UserError as error:
        sys.exit(f"ironsweep: {error}")
    sys.exit()

if {"compare", "history"} & set(sys.argv[1:]):
    from ironsweep import compare

    try:
        sys.exit(compare.answer(config, "history" in sys.argv[1:]))
    except UserError as error:
        sys.exit(f"ironsweep: {error}")
