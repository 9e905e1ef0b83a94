"""What srun and slurmstepd print about one step, as it comes: it is copied to the output of the batch script.

slurmstepd says that it kills a step before it does, and kills the processes of a task one after the other. A command
whose children were killed first may leave any exit code, zero as well, before its runner is killed. So a runner prints
a line of its own to the same stream when its command has ended: what Slurm had said before is read before that line.
"""

from __future__ import annotations

import os
from typing import Set

from muster.agent.batch.script_output import KilledFor, killed_for

ENDING = "muster-ending"
_READ_BYTES = 1 << 16
_KEPT_BYTES = 1 << 20


class StepOutput:
    """`pipe` is the end that is read, and is closed at its end. `copy` is where it is copied to."""

    def __init__(self, pipe: int, copy: int) -> None:
        os.set_blocking(pipe, False)
        self.pipe = pipe
        self.is_open = True
        self._copy = copy
        self._line = b""
        self._said = b""
        self._ending: Set[str] = set()

    @property
    def killed_for(self) -> KilledFor:
        return killed_for(self._said)

    def has_ending(self, task: str) -> bool:
        """Whether the runner of the task has printed its line."""
        return task in self._ending

    def read(self) -> None:
        """Take what has come."""
        while self.is_open:
            try:
                data = os.read(self.pipe, _READ_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if data:
                *lines, self._line = (self._line + data).split(b"\n")
                for line in lines:
                    self._take(line + b"\n")
            else:
                self._take(self._line)
                self.is_open, self._line = False, b""
                os.close(self.pipe)

    def _take(self, line: bytes) -> None:
        before, marker, rest = line.partition(ENDING.encode("ascii") + b" ")
        if marker:
            self._ending.add(rest.strip().decode("utf-8", "replace"))
            line = before
        if len(self._said) < _KEPT_BYTES:
            self._said += line
        try:
            os.write(self._copy, line)
        except OSError:
            return  # the disk is full, or nobody reads it any more


def tell_ending(task: str) -> None:
    """Print the line of a runner."""
    try:
        os.write(2, "{} {}\n".format(ENDING, task).encode("utf-8"))
    except OSError:
        return  # nobody reads it any more: the answer to the question comes late
