# What all rules share: the settings (read and checked once), the registry of kernels and the plan.

import functools
import os
import sys
from pathlib import Path

# Scripts find the package beside them; the rules find it here.
sys.path.insert(0, str(Path(workflow.basedir) / "workflow" / "scripts"))

from ironsweep import batches, build
from ironsweep import config as configuration
from ironsweep import plan as planning
from ironsweep import session, source
from ironsweep.config import slurm_resources
from ironsweep.configtext import as_written, check_arguments
from ironsweep.errors import UserError
from ironsweep.kernels import discover
from ironsweep.plan import digest

ROOT = Path(workflow.basedir)

# Before Snakemake reads them: what YAML and the command line's parser change or drop can be seen in the text only.
try:
    if not workflow.remote_exec:  # in a job it was looked at already
        configuration.check_file(ROOT)
        check_arguments(sys.argv[1:])
except UserError as error:
    sys.exit(f"ironsweep: {error}")


configfile: "config/config.yaml"


# `snakemake bundle` needs no more words: without a profile that says how many, all cores of this machine are used.
if workflow.resource_settings.cores is None and workflow.resource_settings.nodes is None:
    workflow.resource_settings.cores = len(os.sched_getaffinity(0))

try:
    KERNELS = discover(ROOT)
    # The files and the command line's values, so that a message can name the place of a mistake.
    CONFIGURATION = (config, KERNELS, ROOT, workflow.configfiles, workflow.config_settings.config)
    SETTINGS = configuration.resolve(*CONFIGURATION)
    BUNDLE_SETTINGS = configuration.resolve_bundle(*CONFIGURATION)
except UserError as error:
    sys.exit(f"ironsweep: {error}")

# Before anything is planned: from here on no other snakemake changes results in this folder. None where none is changed.
SESSION = session.begin(workflow)

SYSTEMS = {system.name: system for system in SETTINGS.systems}
workflow.resource_settings.nodes = configuration.jobs_at_once(SETTINGS.systems, workflow.resource_settings.nodes)


@functools.cache
def plan():
    """All cells; made only if the plan is not there yet, or is to be printed."""
    return planning.make(SETTINGS)


# Jobs read the plan that they were submitted from. Only the process that was started by a person makes one.
try:
    if workflow.is_main_process:
        INDEX = batches.current(SETTINGS, Path.cwd(), plan, write=session.may_keep_plan(SESSION))
    else:
        INDEX = batches.load(Path.cwd()) or sys.exit(
            f"ironsweep: {batches.PLAN}/index.json is gone; start snakemake anew"
        )
except UserError as error:
    sys.exit(f"ironsweep: {error}")


wildcard_constraints:
    system=r"[\w-]+",
    kernel=r"[A-Z]\w+",
    batch=r"[0-9a-f]{16}",


def files_in(folder, *patterns):
    """Files below a folder of the repository that match any of the patterns, sorted."""
    return sorted(str(path.relative_to(ROOT)) for pattern in patterns for path in (ROOT / folder).glob(pattern))


@functools.cache
def bundle_plan():
    """What the bundle measures; made only if a bundle is asked for."""
    return planning.only_runnable(planning.make(BUNDLE_SETTINGS))
