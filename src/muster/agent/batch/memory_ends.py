"""Whether Slurm killed the tasks of a job because they used more memory than it was given.

Without control groups, Slurm tells nobody but the job itself: its state is that of any failure, and the tasks are dead
before they could write anything down.
"""

from __future__ import annotations

import re

_KILLED = re.compile(
    rb"^slurmstepd.*(exceeded (job )?memory limit|oom[-_ ]kill|out of memory)", re.IGNORECASE | re.MULTILINE
)
_READ_BYTES = 1 << 20


def was_killed_for_memory(output: str) -> bool:
    """`output` is the file of what the batch script, srun and slurmstepd have printed."""
    try:
        with open(output, "rb") as file:
            return _KILLED.search(file.read(_READ_BYTES)) is not None
    except OSError:
        return False
