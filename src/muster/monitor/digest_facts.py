"""What a digest says, picked from the answers of a receiver: pure, and lenient towards servers of other versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.monitor.stories import DigestStory, Figures

Raw = Mapping[str, Any]
MOST = 5
"""How many users, nodes and allocations a digest names."""


@dataclass(frozen=True, slots=True)
class Ranked:
    name: str
    value: float
    numbers: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Facts:
    jobs: int
    gpu_hours: float
    cpu_hours: float
    idle_gpu_hours: float
    median_wait_s: float | None
    p95_wait_s: float | None
    waiting: int | None
    failures: Mapping[str, int]
    users: tuple[Ranked, ...]
    has_gpus: bool
    slow: tuple[Ranked, ...]
    sick: tuple[Ranked, ...]
    idle_now: tuple[str, ...]
    only_own: bool


def facts_of(figures: Figures) -> Facts:
    total = figures.by_user.get("total") or {}
    users = list(figures.by_user.get("items") or ())
    nodes = list(figures.by_node.get("items") or ())
    alerts = list(figures.alerts.get("items") or ())
    has_gpus = _number(total, "gpuHours") > 0
    hours = "gpuHours" if has_gpus else "cpuHours"
    return Facts(
        int(_number(total, "jobs")),
        _number(total, "gpuHours"),
        _number(total, "cpuHours"),
        _number(total, "idleGpuHours"),
        total.get("medianWaitS"),
        total.get("p95WaitS"),
        figures.waiting,
        {str(kind): int(count) for kind, count in (total.get("failures") or {}).items()},
        _ranked(users, lambda line: _number(line, hours)),
        has_gpus,
        _ranked(nodes, lambda line: _number(line, "slowness"), above=1.0),
        _sickest(nodes, alerts),
        tuple(str(alert.get("message", "")) for alert in alerts if alert.get("kind") == "idle-allocation")[:MOST],
        bool(figures.by_user.get("onlyOwn")),
    )


def all_facts(story: DigestStory) -> list[tuple[Figures, Facts]]:
    return [(figures, facts_of(figures)) for figures in story.figures if figures.problem is None]


def _number(line: Raw, key: str) -> float:
    value = line.get(key)
    return float(value) if isinstance(value, int | float) else 0.0


def _ranked(lines: Sequence[Raw], value: Any, above: float = 0.0) -> tuple[Ranked, ...]:
    found = [Ranked(str(line.get("group", "")), value(line), {}) for line in lines if value(line) > above]
    return tuple(sorted(found, key=lambda one: (-one.value, one.name))[:MOST])


def _sickest(nodes: Sequence[Raw], alerts: Sequence[Raw]) -> tuple[Ranked, ...]:
    """Ranks nodes by failures that were not the fault of the jobs themselves, and by the alerts that there are now."""
    failures = {
        str(line.get("group", "")): sum(
            int(count) for kind, count in (line.get("failures") or {}).items() if kind != "user"
        )
        for line in nodes
    }
    alerted: dict[str, int] = {}
    for alert in alerts:
        subject = alert.get("subject") or {}
        if subject.get("type") in ("node", "gpu"):
            name = str(subject.get("name", "")).partition("/")[0]
            alerted[name] = alerted.get(name, 0) + 1
    found = [
        Ranked(name, float(count), {"failures": failures.get(name, 0), "alerts": alerted.get(name, 0)})
        for name in {*failures, *alerted}
        if name and (count := failures.get(name, 0) + alerted.get(name, 0))
    ]
    return tuple(sorted(found, key=lambda one: (-one.value, one.name))[:MOST])
