"""Measures one peer from start to stop and keeps what was seen, failures included."""

import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from enum import Enum

from bench.measuring import Footprint, command_cpu_seconds, cpu_seconds, percentile, process_tree
from bench.peers.peer import Peer, PeerAbsent, PeerFailed
from bench.scale import Scale


class Measure(Enum):
    START = "start"
    MANY = "many"
    IDLE = "idle"
    COMMANDS = "commands"


@dataclass(frozen=True)
class PeerFigures:
    """What was seen of one peer. `absent` says why there is nothing; `problems` what went wrong on the way."""

    name: str
    method: str
    version: str = ""
    absent: str = ""
    problems: tuple[str, ...] = ()
    load_before: float = 0.0
    up_s: float | None = None
    start_s: tuple[float, ...] = ()
    jobs: int = 0
    jobs_per_s: float | None = None
    cpu_ms_per_job: float | None = None
    footprint: Footprint | None = None
    commands_cpu_s: dict[str, float] = field(default_factory=dict)

    def start_percentile(self, percent: float) -> float | None:
        return percentile(self.start_s, percent) if self.start_s else None


def measure(peer: Peer, measures: Collection[Measure], scale: Scale) -> PeerFigures:
    """Everything asked for, in one life of the peer; it is stopped whatever happens, Ctrl-C included."""
    figures = PeerFigures(peer.name, peer.method, load_before=os.getloadavg()[0])
    steps: dict[Measure, Callable[[Peer, PeerFigures, Scale], PeerFigures]] = {
        Measure.START: _start,
        Measure.IDLE: _idle,
        Measure.MANY: _many,
        Measure.COMMANDS: _commands,
    }
    try:
        began = time.monotonic()
        peer.start()
        figures = replace(figures, up_s=time.monotonic() - began, version=peer.version())
        for step in (step for step in steps if step in measures):
            figures = _attempt(step, steps[step], peer, figures, scale)
    except PeerAbsent as reason:
        figures = replace(figures, absent=str(reason))
    except PeerFailed as problem:
        figures = replace(figures, absent=f"did not start: {problem}")
    finally:
        peer.stop()
    return figures


def _attempt(
    name: Measure,
    step: Callable[[Peer, PeerFigures, Scale], PeerFigures],
    peer: Peer,
    figures: PeerFigures,
    scale: Scale,
) -> PeerFigures:
    try:
        return step(peer, figures, scale)
    except (PeerFailed, RuntimeError, TimeoutError) as problem:
        return replace(figures, problems=(*figures.problems, f"{name.value}: {problem}"))


def _start(peer: Peer, figures: PeerFigures, scale: Scale) -> PeerFigures:
    peer.submit_to_start(1)  # the first call imports and connects; the client is to be connected already
    return replace(figures, start_s=tuple(peer.submit_to_start(scale.starts)))


def _many(peer: Peer, figures: PeerFigures, scale: Scale) -> PeerFigures:
    jobs = min(peer.many, scale.jobs)
    before = cpu_seconds(process_tree(*peer.pids()))
    rate = peer.run_many(jobs)
    spent = cpu_seconds(process_tree(*peer.pids())) - before
    return replace(figures, jobs=jobs, jobs_per_s=rate, cpu_ms_per_job=1000 * spent / jobs)


def _idle(peer: Peer, figures: PeerFigures, scale: Scale) -> PeerFigures:
    time.sleep(scale.settle_s)
    return replace(figures, footprint=peer.idle(scale.idle_s))


def _commands(peer: Peer, figures: PeerFigures, scale: Scale) -> PeerFigures:
    seen = {
        command.label: command_cpu_seconds(command.arguments, command.env, scale.command_repeats)
        for command in peer.commands()
    }
    return replace(figures, commands_cpu_s=seen)
