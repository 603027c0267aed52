# ironsweep: `make run` makes everything and measures, `make test` tests everything. `make help` lists the rest.

PYTHON ?= python3
ARGS ?=# more arguments for snakemake

SHELL := /bin/sh
# .venv is made with the Python outside of it, and used by everything else.
OUTER_PATH := $(PATH)
PATH := $(CURDIR)/.venv/bin:$(PATH)
export PATH

SNAKEMAKE = snakemake --profile profiles/local
PYTHON_SOURCES = workflow/scripts tests benchmarks
RUST_SOURCES = kernels/launch/lib.rs kernels/suite/*.rs kernels/planted/*.rs
SMK_SOURCES = Snakefile workflow/rules

.PHONY: run test env lint format lock dag reference clean help prerequisites

run: prerequisites .venv/run.stamp ## Make the toolchain, build, measure, and draw (the default)
	$(SNAKEMAKE) $(ARGS)
	@cat results/summary.txt

test: prerequisites .venv/test.stamp lint ## Lint and run all tests; no GPU is needed
	pytest

env: prerequisites .venv/run.stamp ## Make only the Python environment

lint: prerequisites .venv/test.stamp results/toolchain/runtime/run ## Check style and types
	ruff check $(PYTHON_SOURCES)
	ruff format --check $(PYTHON_SOURCES)
	mypy
	snakefmt --check $(SMK_SOURCES)
	snakemake --lint
	results/toolchain/bin/rustfmt --check $(RUST_SOURCES)

format: .venv/test.stamp results/toolchain/runtime/run ## Format Python, Snakemake and Rust sources
	ruff check --fix $(PYTHON_SOURCES)
	ruff format $(PYTHON_SOURCES)
	snakefmt $(SMK_SOURCES)
	results/toolchain/bin/rustfmt $(RUST_SOURCES)

lock: ## Look up new versions of the Python packages (needs uv)
	cd requirements && for name in run test cuda; do \
	    uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	        --no-header --no-annotate $$name.in --output-file $$name.txt || exit; \
	done

# All that there is, hence also the import, of any file.
dag: .venv/run.stamp ## Draw docs/images/dag.svg anew (needs Graphviz)
	$(SNAKEMAKE) --rulegraph dot --config records=Snakefile name=elsewhere -- all bundle \
	    | python workflow/scripts/draw_dag.py --out docs/images/dag.svg

reference: .venv/run.stamp ## Write config/README.md anew from the schemas
	python workflow/scripts/config_reference.py --out config/README.md

clean: ## Remove all results, the toolchain included
	@if grep -q " $(CURDIR)/results/" /proc/self/mountinfo; then \
	    echo "something is mounted in $(CURDIR)/results: unmount it first"; exit 1; fi
	rm -rf results .snakemake

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' $(MAKEFILE_LIST)

# What the system has to provide is looked at each time, which takes no time.
prerequisites:
	@PATH="$(OUTER_PATH)" sh workflow/scripts/prerequisites.sh $(PYTHON)

results/toolchain/runtime/run: | .venv/run.stamp
	$(SNAKEMAKE) toolchain_runtime

# An environment without its stamp was not finished, and is made anew; so is one whose lock has changed.
.venv/run.stamp: requirements/run.txt | prerequisites
	@echo "Making .venv from requirements/run.txt (once; takes about a minute)"
	PATH="$(OUTER_PATH)" $(PYTHON) -m venv --clear .venv
	python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/run.txt
	touch $@

.venv/test.stamp: requirements/test.txt .venv/run.stamp
	python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/test.txt
	touch $@
