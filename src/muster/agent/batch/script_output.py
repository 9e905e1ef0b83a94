"""What the batch script, srun and slurmstepd have printed: why nothing could start, or why Slurm killed a task.

Slurm tells nobody but the job itself why it kills a step: the state of the job is that of any failure, and the tasks
are dead before they could write anything down.
"""

from __future__ import annotations

import re
from enum import Enum

_MEMORY = re.compile(
    rb"^slurmstepd.*(exceeded (job )?memory limit|oom[-_ ]kill|out of memory)", re.IGNORECASE | re.MULTILINE
)
_CANCELLED = re.compile(rb"^slurmstepd.*\*\*\* (STEP|JOB) .* CANCELLED AT \S+( DUE TO .*)? \*\*\*", re.MULTILINE)
_ABORTED = re.compile(rb"^slurmstepd.* mpi/.*(error handler|abort)", re.IGNORECASE | re.MULTILINE)
"""A program that calls MPI_Abort has Slurm's MPI plugin cancel its step."""
OWN = "muster: "
"""What lines of Muster's own programs begin with."""
_READ_BYTES = 1 << 20
_WORDS = 400


class KilledFor(Enum):
    """Why Slurm kills a step, by its own words."""

    NOTHING = "nothing"
    MEMORY = "memory"
    SOMEBODY = "somebody"
    """Somebody has cancelled it."""
    SLURM = "slurm"
    """Slurm did, for a reason that the state of the job will tell: a limit, a preemption, a node that failed."""


def killed_for(said: bytes) -> KilledFor:
    if _MEMORY.search(said):
        return KilledFor.MEMORY
    cancelled = list(_CANCELLED.finditer(said))
    if not cancelled or _ABORTED.search(said):
        return KilledFor.NOTHING
    return KilledFor.SLURM if any(found[2] for found in cancelled) else KilledFor.SOMEBODY


def last_words(output: str) -> str:
    """The last errors of Muster's own programs, or else of Slurm's, on one line; if there are none, the last line."""
    lines = [line.strip() for line in _beginning(output).decode("utf-8", "replace").splitlines() if line.strip()]
    own = [line for line in lines if line.startswith(OWN)]
    errors = own or [line for line in lines if re.match(r"(srun|slurmstepd)\b.*\berror: ", line)]
    words = "; ".join(dict.fromkeys((errors or lines[-1:])[-3:]))
    return words[-_WORDS:] or "it printed nothing"


def step_words(said: str) -> str:
    """The errors of srun, on one line; if there are none, all that it has printed."""
    lines = [line for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error: " in line] or lines
    return " ".join(" ".join(errors).replace("srun: ", "").replace("error: ", "").split())


def _beginning(output: str) -> bytes:
    try:
        with open(output, "rb") as file:
            return file.read(_READ_BYTES)
    except OSError:
        return b""
