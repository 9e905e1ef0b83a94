"""What the controller of Slurm says of itself: when it got, started and ended a job, and which calls it answered."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

LOOK_S = 0.01
_PATIENCE_S = 60.0
_LINE = re.compile(r"^\[([^\]]+)\] (.*)$", re.MULTILINE)
_SUBMITTED = re.compile(r"_slurm_rpc_submit_batch_job: JobId=(\d+) ")
_ALLOCATED = re.compile(r"(?:Allocate|_start_job: Started) JobId=(\d+) ")
_ENDED = re.compile(r"_job_complete: JobId=(\d+) done")
_CALLS = re.compile(r"^\s+([A-Z_]+)\s+\(\s*\d+\) count:(\d+)", re.MULTILINE)
BACKGROUND = frozenset(("REQUEST_STATS_INFO", "REQUEST_PING", "MESSAGE_NODE_REGISTRATION_STATUS"))
"""Calls that come by themselves, or from the measurement."""


@dataclass(frozen=True)
class JobTimes:
    """The controller's clock at each step of a job, in seconds."""

    job: int
    submitted_at: float = 0.0
    allocated_at: float = 0.0
    ended_at: float = 0.0


_STEPS: Mapping[re.Pattern[str], Callable[[JobTimes, float], JobTimes]] = {
    _SUBMITTED: lambda job, at: replace(job, submitted_at=at),
    _ALLOCATED: lambda job, at: replace(job, allocated_at=at),
    _ENDED: lambda job, at: replace(job, ended_at=at),
}


def read_log(text: str) -> dict[int, JobTimes]:
    """The jobs in a log of the controller, in the order of their submission."""
    found: dict[int, JobTimes] = {}
    for stamp, words in _LINE.findall(text):
        for pattern, noted in _STEPS.items():
            if match := pattern.search(words):
                job, at = int(match[1]), datetime.fromisoformat(stamp).timestamp()
                found[job] = noted(found.get(job, JobTimes(job)), at)
    return found


def read_calls(text: str) -> dict[str, int]:
    """How often each call was made, from the output of sdiag."""
    return {name: int(count) for name, count in _CALLS.findall(text) if name not in BACKGROUND}


def calls_between(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    found = {name: count - before.get(name, 0) for name, count in after.items()}
    return {name: count for name, count in found.items() if count}


class ControllerLog:
    """The log while it grows. Jobs come one at a time, so that the first one after a mark is ours."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def mark(self) -> int:
        return self._path.stat().st_size

    def next_job(self, mark: int) -> JobTimes:
        """The first job that was submitted after the mark, once it has ended."""
        give_up = time.monotonic() + _PATIENCE_S
        while time.monotonic() < give_up:
            with self._path.open("rb") as file:
                file.seek(mark)
                jobs = read_log(file.read().decode(errors="replace"))
            done = next((job for job in jobs.values() if job.submitted_at), None)
            if done is not None and done.ended_at and done.allocated_at:
                return done
            time.sleep(LOOK_S)
        raise TimeoutError(f"the controller ended no job within {_PATIENCE_S:.0f} s")
