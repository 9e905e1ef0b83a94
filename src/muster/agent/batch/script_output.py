"""What the batch script, srun and slurmstepd have printed: why nothing could start, or why Slurm killed a task.

Without control groups, Slurm tells nobody but the job itself that it used more memory than it was given: its state is
that of any failure, and the tasks are dead before they could write anything down.
"""

from __future__ import annotations

import re

_KILLED = re.compile(
    rb"^slurmstepd.*(exceeded (job )?memory limit|oom[-_ ]kill|out of memory)", re.IGNORECASE | re.MULTILINE
)
_READ_BYTES = 1 << 20
_WORDS = 400


def was_killed_for_memory(output: str) -> bool:
    return _KILLED.search(_beginning(output)) is not None


def last_words(output: str) -> str:
    """The last errors of Slurm's programs, on one line; if there are none, the last line."""
    lines = [line.strip() for line in _beginning(output).decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(srun|slurmstepd)\b.*\berror: ", line)]
    words = "; ".join(dict.fromkeys((errors or lines[-1:])[-3:]))
    return words[-_WORDS:] or "it printed nothing"


def _beginning(output: str) -> bytes:
    try:
        with open(output, "rb") as file:
            return file.read(_READ_BYTES)
    except OSError:
        return b""
