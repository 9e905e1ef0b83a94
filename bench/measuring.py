"""Clocks, percentiles and what a process tree costs, read from /proc. It starts nothing and judges nothing."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which `percent` of the values lie, between neighbours by straight line."""
    if not values:
        raise ValueError("no values were measured")
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


@dataclass(frozen=True)
class ProcessSample:
    """One process as /proc shows it."""

    pid: int
    parent: int
    own_cpu_s: float
    cpu_s: float
    """Its own and that of the children it has already waited for."""
    rss_bytes: int
    command: str
    state: str
    started: int
    """Clock ticks after boot: with the pid it names one process for good."""


@dataclass(frozen=True)
class Footprint:
    """What a set of processes costs while nothing happens."""

    rss_bytes: int
    cpu_percent: float
    processes: int


def sample_process(pid: int) -> ProcessSample | None:
    """The process now, or nothing when it has ended meanwhile."""
    folder = Path("/proc") / str(pid)
    try:
        stat = (folder / "stat").read_text()
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in brackets may hold spaces and brackets, so fields are counted from the last one.
    fields = stat[stat.rindex(")") + 2 :].split()
    ticks = [int(field) for field in fields[11:15]]
    return ProcessSample(
        pid=pid,
        parent=int(fields[1]),
        own_cpu_s=sum(ticks[:2]) / TICKS_PER_S,
        cpu_s=sum(ticks) / TICKS_PER_S,
        rss_bytes=int(fields[21]) * PAGE_BYTES,
        command=command,
        state=fields[0],
        started=int(fields[19]),
    )


def process_tree(*roots: int) -> list[ProcessSample]:
    """The roots and all that descend from them, now."""
    everything = [sample_process(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    children: dict[int, list[ProcessSample]] = {}
    by_pid: dict[int, ProcessSample] = {}
    for sample in everything:
        if sample is not None:
            by_pid[sample.pid] = sample
            children.setdefault(sample.parent, []).append(sample)
    found: list[ProcessSample] = []
    waiting = [by_pid[pid] for pid in roots if pid in by_pid]
    while waiting:
        sample = waiting.pop()
        found.append(sample)
        waiting.extend(children.get(sample.pid, ()))
    return found


def cpu_seconds(samples: Iterable[ProcessSample]) -> float:
    return sum(sample.cpu_s for sample in samples)


def footprint(roots: Sequence[int], window_s: float) -> Footprint:
    """Memory at the end of the window and CPU over it, of processes that are left alone meanwhile."""
    before, began = process_tree(*roots), time.monotonic()
    time.sleep(window_s)
    after, seconds = process_tree(*roots), time.monotonic() - began
    return compare(before, after, seconds)


def compare(before: Sequence[ProcessSample], after: Sequence[ProcessSample], seconds: float) -> Footprint:
    """Only what each process spent itself: a child that ends hands its whole life's CPU to its parent."""
    earlier = {(sample.pid, sample.started): sample.own_cpu_s for sample in before}
    spent = sum(sample.own_cpu_s - earlier.get((sample.pid, sample.started), 0.0) for sample in after)
    return Footprint(sum(sample.rss_bytes for sample in after), 100 * spent / seconds, len(after))


def with_compiled_modules(env: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The variables of a Python command that compiles its modules at its first call only, as an installed one has them.
    `folder` keeps them."""
    kept = {name: value for name, value in env.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder)}


def command_cpu_seconds(arguments: Sequence[str], env: dict[str, str], repeats: int) -> float:
    """Median CPU seconds, user and system, of one command run to its end."""
    return percentile([_run_once(arguments, env) for _ in range(repeats)], 50)


def _run_once(arguments: Sequence[str], env: dict[str, str]) -> float:
    quiet = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, quiet, stream) for stream in (0, 1, 2)]
    try:
        pid = os.posix_spawn(arguments[0], list(arguments), env, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
    finally:
        os.close(quiet)
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        raise RuntimeError(f"{' '.join(arguments)} ended with {code}")
    return usage.ru_utime + usage.ru_stime
