"""What tasks on Slurm and their nodes use, as the runners of the tasks tell it.

Files that a user's job can write are where it comes from, so nothing of it is believed but that numbers are numbers.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.backends.agents.usage_history import UsageHistory
from muster.backends.agents.used_resources import used_resources
from muster.ports.capabilities import NodeUsage, TaskUsage

EVERY_S = 5.0
_OLD_S = 60.0
"""A sample that is older says nothing about now."""
_KEPT = 150
_MOST = 1e18
_MOST_CORES = 4096
_MOST_GPUS = 64
_OF_NODE = (
    "cpu_percent",
    "memory_used_bytes",
    "memory_total_bytes",
    "memory_available_bytes",
    "memory_free_bytes",
    "net_rx_bytes",
    "net_tx_bytes",
    "load1",
)
_OF_GPU = ("load", "memory_used_bytes", "memory_total_bytes", "temperature_c", "power_w", "energy_j", "ecc_errors")


@dataclass(frozen=True, slots=True)
class Sample:
    """What the runner of one task told."""

    at: float
    metrics: Mapping[str, Any]
    cpu_s: float
    usage: TaskUsage
    received_at: float


class SlurmUsage:
    """Implements `ports.capabilities.Usage`."""

    def __init__(self) -> None:
        self._samples: dict[str, dict[str, Sample]] = {}
        self._latest: dict[str, NodeUsage] = {}
        self._history: dict[str, UsageHistory] = defaultdict(lambda: UsageHistory(_KEPT))

    def latest(self) -> Mapping[str, NodeUsage]:
        return self._latest

    def history(self, node: str, since: float = 0.0) -> Sequence[NodeUsage]:
        return self._history[node].since(since) if node in self._history else ()

    async def look(self) -> None:
        """Samples are read every few seconds while tasks run. Slurm is never asked."""

    def unknown_why(self) -> str:
        return ""

    def take(self, told: Mapping[str, Any], nodes: Mapping[str, str], now: float) -> None:
        """`told` has the newest sample of each running task, and `nodes` says where the tasks are."""
        before, self._samples = self._samples, defaultdict(dict)
        for task, node in nodes.items():
            known = before.get(node, {}).get(task)
            found = read_sample(told.get(task), known, now) or known
            if found is not None and now - found.received_at < _OLD_S:
                self._samples[node][task] = found
        self._latest = {node: _together(samples.values(), samples) for node, samples in self._samples.items()}
        for node, usage in self._latest.items():
            if any(sample.received_at == now for sample in self._samples[node].values()):
                self._history[node].add(usage)


def read_sample(told: Any, before: Sample | None, now: float) -> Sample | None:
    """Returns None if this is no sample, or the one before."""
    if not isinstance(told, Mapping) or not isinstance(told.get("task"), Mapping):
        return None
    at, task = _number(told.get("at")), told["task"]
    cpu_s, rss_bytes = _number(task.get("cpu_s")), _number(task.get("rss_bytes"))
    if at is None or cpu_s is None or rss_bytes is None or (before is not None and at == before.at):
        return None
    percent = None
    if before is not None and at > before.at:
        percent = round(max(0.0, cpu_s - before.cpu_s) / (at - before.at) * 100, 1)
    processes = _number(task.get("processes"))
    usage = TaskUsage(
        percent, int(rss_bytes), None if processes is None else int(processes), used_resources(task.get("used"))
    )
    return Sample(at, _metrics(told.get("node")), cpu_s, usage, now)


def _together(samples: Iterable[Sample], by_task: Mapping[str, Sample]) -> NodeUsage:
    """The runners of one node: the newest tells of the machine, and each of its own GPUs."""
    newest = max(samples, key=lambda sample: sample.at)
    gpus = {gpu["index"]: gpu for sample in by_task.values() for gpu in sample.metrics["gpus"]}
    metrics = {**newest.metrics, "gpus": [gpus[index] for index in sorted(gpus)]}
    usages = {task: sample.usage for task, sample in by_task.items()}
    return NodeUsage(newest.at, metrics, usages, newest.received_at)


def _metrics(value: Any) -> dict[str, Any]:
    node = value if isinstance(value, Mapping) else {}
    found: dict[str, Any] = {name: number for name in _OF_NODE if (number := _number(node.get(name))) is not None}
    cores, gpus = node.get("per_core"), node.get("gpus")
    if isinstance(cores, list) and all(_number(core) is not None for core in cores[:_MOST_CORES]):
        found["per_core"] = cores[:_MOST_CORES]
    listed = [gpu for gpu in gpus[:_MOST_GPUS] if isinstance(gpu, Mapping)] if isinstance(gpus, list) else []
    found["gpus"] = [_gpu(gpu) for gpu in listed if _number(gpu.get("index")) is not None]
    return found


def _gpu(gpu: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: _number(gpu.get(name)) for name in _OF_GPU}
    return {"index": int(gpu["index"]), **known, "foreign_pids": [], "missing": False}


def _number(value: Any) -> float | int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value if 0 <= value < _MOST else None
