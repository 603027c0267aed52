# What surrounds a run, in the process that a person started and in no job of it: an earlier start's Slurm jobs are ended
# before the first one is submitted, how far the sweep is is shown on a terminal, and a table stands at the end. The
# folder's lock was taken in common.smk.

from ironsweep import progress


def planned_batches():
    """The batches that journals and record files are compared with."""
    batches = [
        progress.PlannedBatch(kernel, system, "", len(cells), float(len(cells)))
        for (system, kernel), cells in PLAN.by_job.items()
    ]
    return progress.PlannedIndex(batches, sum(batch.points for batch in batches))


onstart:
    session.starts(SESSION, planned_batches)


onsuccess:
    session.ends(SESSION, True)


onerror:
    session.ends(SESSION, False)
