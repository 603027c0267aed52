# What surrounds a run, in the process that a person started and in no job of it: an earlier start's Slurm jobs are ended
# before the first one is submitted, how far the sweep is is shown on a terminal, and a table stands at the end. The
# folder's lock was taken in common.smk.


onstart:
    session.starts(SESSION, INDEX, configuration.status_command(SETTINGS.systems))


onsuccess:
    session.ends(SESSION, True)


onerror:
    session.ends(SESSION, False)
