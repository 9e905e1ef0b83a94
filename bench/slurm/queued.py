"""What many jobs that wait in Slurm's queue cost, and what the server costs Slurm when it has none."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from bench.measuring import cpu_seconds, process_tree
from bench.slurm.controller import calls_between
from bench.slurm.site import POLL_S, Site, job_spec
from tests.parts.server import end_all_jobs

_JOB_CALLS = ("REQUEST_JOB_INFO", "REQUEST_JOB_INFO_SINGLE", "REQUEST_JOB_USER_INFO")
_HAND_OVER_S = 600.0
_BULK = 100


@dataclass(frozen=True)
class Window:
    """What happened in a stretch of time in which nobody asked Muster for anything."""

    seconds: float
    calls: Mapping[str, int]
    cpu_s: float
    """Of the server, its agent on the login node, and the commands of Slurm that this runs."""

    @property
    def job_queries(self) -> int:
        return sum(self.calls.get(name, 0) for name in _JOB_CALLS)

    @property
    def job_queries_per_interval(self) -> float:
        """Of the interval in the cluster file. The server waits longer where Slurm takes long to answer."""
        return self.job_queries * POLL_S / self.seconds

    @property
    def calls_per_interval(self) -> float:
        return sum(self.calls.values()) * POLL_S / self.seconds

    @property
    def cpu_percent(self) -> float:
        return 100 * self.cpu_s / self.seconds


@dataclass(frozen=True)
class Queued:
    jobs: int
    hand_over_s: float
    waiting: Window


def watch(site: Site, seconds: float) -> Window:
    calls, cpu_s, began = site.calls(), _cpu_s(site), time.monotonic()
    time.sleep(seconds)
    took_s = time.monotonic() - began
    used_s = _cpu_s(site) - cpu_s
    return Window(took_s, calls_between(calls, site.calls()), used_s)


def measure_queued(site: Site, jobs: int, settle_s: float, window_s: float) -> Queued:
    """Others have the whole cluster, so that nothing starts."""
    site.slurm.fill()
    try:
        began = time.monotonic()
        specs = [job_spec(f"queued-{number}", "/bin/true") for number in range(jobs)]
        for first in range(0, jobs, _BULK):
            site.client.submit_bulk(specs[first : first + _BULK])
        _wait_until_queued(site, jobs)
        hand_over_s = time.monotonic() - began
        time.sleep(settle_s)
        found = Queued(jobs, hand_over_s, watch(site, window_s))
    finally:
        end_all_jobs(site.server)
        site.slurm.free()
    return found


def _wait_until_queued(site: Site, jobs: int) -> None:
    give_up = time.monotonic() + _HAND_OVER_S
    found = 0
    while time.monotonic() < give_up:
        found = len(site.slurm.run("squeue", "--noheader", "--states=PENDING", "--format=%A").split())
        if found >= jobs:
            return
        time.sleep(1.0)
    raise TimeoutError(f"{found} of {jobs} jobs are in Slurm's queue after {_HAND_OVER_S:.0f} s")


def _cpu_s(site: Site) -> float:
    return cpu_seconds(process_tree(site.server.pid))
