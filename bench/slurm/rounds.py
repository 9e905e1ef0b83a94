"""Lets all clients take turns, so that the machine is as busy for one as for the other."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from bench.measuring import percentile
from bench.peers.peer import PeerAbsent
from bench.slurm.clients import SUBMITIT, TORCHX, Client, Driven, MusterApi, MusterCommand, Sbatch
from bench.slurm.controller import calls_between
from bench.slurm.site import Site
from bench.workload import Workload, rest, wait_for_stamp

_SETTLE_S = 0.5


@dataclass
class Seen:
    """Of one client, for each of its jobs, in seconds."""

    to_slurm_s: list[float] = field(default_factory=list)
    """From the call until the controller has the job."""
    to_start_s: list[float] = field(default_factory=list)
    """From the call until the program's first line."""
    allocated_to_start_s: list[float] = field(default_factory=list)
    end_seen_s: list[float] = field(default_factory=list)
    """From the controller's line about the end until the client knew; negative if the client knew first."""
    cpu_s: list[float] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    absent: str = ""

    @property
    def calls_per_job(self) -> float | None:
        return sum(self.calls.values()) / len(self.cpu_s) if self.cpu_s else None


def median_ms(values: Sequence[float], percent: float = 50.0) -> float | None:
    return 1e3 * percentile(values, percent) if values else None


def run_rounds(site: Site, rounds: int) -> dict[str, Seen]:
    seen: dict[str, Seen] = {}
    workload = Workload.create(site.folder / "programs")
    with ExitStack() as stack:
        clients: list[Client] = []
        for name, make in _MAKERS.items():
            seen[name] = Seen()
            try:
                client = make(site)
            except PeerAbsent as absent:
                seen[name].absent = str(absent)
                continue
            stack.callback(client.close)
            clients.append(client)
        for number in range(rounds + 1):
            for place, client in enumerate(clients):
                kept = seen[client.name] if number else Seen()  # the first round warms everything up
                _once(site, workload, client, kept, number * len(clients) + place)
    return seen


def _once(site: Site, workload: Workload, client: Client, seen: Seen, number: int) -> None:
    stamp = workload.stamp_file(number)
    calls, mark = site.calls(), site.log.mark()
    done = client.run(workload.stamp_script, stamp)
    job, started_at = site.log.next_job(mark), wait_for_stamp(stamp)
    rest(started_at)
    time.sleep(_SETTLE_S)  # what its client or its end still asks belongs to it
    for name, count in calls_between(calls, site.calls()).items():
        seen.calls[name] = seen.calls.get(name, 0) + count
    seen.to_slurm_s.append(job.submitted_at - done.before)
    seen.to_start_s.append(started_at - done.before)
    seen.allocated_to_start_s.append(started_at - job.allocated_at)
    seen.end_seen_s.append(done.ended_at - job.ended_at)
    seen.cpu_s.append(done.cpu_s)


_MAKERS: dict[str, Callable[[Site], Client]] = {
    Sbatch.name: Sbatch,
    MusterApi.name: MusterApi,
    MusterCommand.name: MusterCommand,
    "submitit": lambda site: Driven("submitit", site, SUBMITIT),
    "torchx": lambda site: Driven("torchx", site, TORCHX),
}
