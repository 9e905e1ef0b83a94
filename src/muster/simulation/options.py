"""The options of a simulation: the machines, the policy, what it knows of durations and what a preemption costs.

Texts of the command line are read here; a wrong one raises ValueError whose message says what would be accepted.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from muster.lib.quantities import parse_duration

NODES_ACCEPTED = "COUNTxGPUS[xMODEL], such as 8x8, 4x8xV100 or A:32x8xV100,B:16x4xA100"
DURATIONS_ACCEPTED = "exact, unknown, noisy:SEED or limit"
COST_ACCEPTED = "0, helios, checkpoint:INTERVAL (such as checkpoint:30m) or none"
VC_ACCEPTED = "NAME=NODES, such as vision=4"
_GROUP = re.compile(r"(?:(?P<cluster>[^:,]+):)?(?P<count>\d+)x(?P<gpus>\d+)(?:x(?P<model>.+))?")
_HELIOS = ((1, 7.0), (8, 30.0))
_HELIOS_LARGE_S = 60.0


class Policy(StrEnum):
    FIFO = "fifo"
    """Strict: the head of the queue blocks all others."""
    FIRST_FIT = "first-fit"
    """Jobs start in order of arrival, but whatever fits may pass."""
    EASY = "easy"
    """A job may pass if the reserved start of the head is not delayed."""
    SSF = "ssf"
    """Shortest GPU-time first, without preemption."""
    SRSF = "srsf"
    """Shortest remaining GPU-time first, with preemption."""
    LAS = "las"
    """Least attained service in discrete queues; knows no durations."""
    FAIR = "fair"
    """Users who have used least come first."""
    DEFAULT = "default"
    """What a new installation uses."""


class PlacementKind(StrEnum):
    CONSOLIDATED = "consolidated"
    """A gang takes no more nodes than it needs."""
    COUNT = "count"
    """Only the number of free GPUs matters, wherever they are."""


class DurationsKind(StrEnum):
    EXACT = "exact"
    UNKNOWN = "unknown"
    NOISY = "noisy"
    LIMIT = "limit"
    """What the trace's `limit_s` says, where it says something."""


class CostKind(StrEnum):
    FREE = "free"
    HELIOS = "helios"
    CHECKPOINT = "checkpoint"
    NONE = "none"
    """No preemption at all."""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that are alike. None means: more than any job asks for."""

    count: int
    gpus: int
    model: str = ""
    cluster: str = ""
    cpus: float | None = None
    mem_mib: float | None = None


@dataclass(frozen=True, slots=True)
class Durations:
    """What a policy knows of a job's run time before it has run."""

    kind: DurationsKind = DurationsKind.EXACT
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.seed}" if self.kind is DurationsKind.NOISY else str(self.kind)


@dataclass(frozen=True, slots=True)
class PreemptionCost:
    kind: CostKind = CostKind.FREE
    interval_s: float = 0.0
    """The time between two checkpoints, in run time of an attempt."""

    @property
    def allows_preemption(self) -> bool:
        return self.kind is not CostKind.NONE

    def restart_s(self, gpus: float) -> float:
        """How long a preempted job's next attempt holds its GPUs before it goes on where it was."""
        if self.kind is not CostKind.HELIOS:
            return 0.0
        return next((seconds for largest, seconds in _HELIOS if gpus <= largest), _HELIOS_LARGE_S)

    def lost_s(self, ran_s: float) -> float:
        """How much of an attempt's run time is to be done again."""
        return ran_s % self.interval_s if self.kind is CostKind.CHECKPOINT else 0.0

    def __str__(self) -> str:
        match self.kind:
            case CostKind.FREE:
                return "0"
            case CostKind.CHECKPOINT:
                return f"checkpoint:{self.interval_s:g}s"
            case _:
                return str(self.kind)


@dataclass(frozen=True, slots=True)
class Options:
    policy: Policy = Policy.DEFAULT
    placement: PlacementKind = PlacementKind.CONSOLIDATED
    durations: Durations = field(default_factory=Durations)
    preemption_cost: PreemptionCost = field(default_factory=PreemptionCost)
    vc_quota: Mapping[str, int] | None = None
    """Nodes that are guaranteed to each virtual cluster. None: one pool, in which a job's `vc` means nothing."""


def parse_nodes(text: str) -> list[NodeGroup]:
    """A group without a cluster's name belongs to the cluster named before it."""
    groups: list[NodeGroup] = []
    cluster = ""
    for part in text.split(","):
        match = _GROUP.fullmatch(part.strip())
        if match is None or int(match["count"]) == 0:
            raise ValueError(f"{part.strip()!r}: expected {NODES_ACCEPTED}")
        cluster = (match["cluster"] or cluster).strip()
        groups.append(NodeGroup(int(match["count"]), int(match["gpus"]), (match["model"] or "").strip(), cluster))
    return groups


def parse_durations(text: str) -> Durations:
    word, colon, seed = text.partition(":")
    if word == DurationsKind.NOISY and seed.isdecimal():
        return Durations(DurationsKind.NOISY, int(seed))
    if colon or word == DurationsKind.NOISY or word not in set(DurationsKind):
        raise ValueError(f"{text!r}: expected {DURATIONS_ACCEPTED}")
    return Durations(DurationsKind(word))


def parse_preemption_cost(text: str) -> PreemptionCost:
    if text in ("0", CostKind.FREE):
        return PreemptionCost(CostKind.FREE)
    if text in (CostKind.HELIOS, CostKind.NONE):
        return PreemptionCost(CostKind(text))
    word, _, interval = text.partition(":")
    try:
        interval_s = parse_duration(interval) if word == CostKind.CHECKPOINT else 0.0
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from error
    if not interval_s:
        raise ValueError(f"{text!r}: expected {COST_ACCEPTED}")
    return PreemptionCost(CostKind.CHECKPOINT, interval_s)


def parse_vc(text: str) -> tuple[str, int]:
    name, _, nodes = text.rpartition("=")
    if not name.strip() or not nodes.strip().isdecimal():
        raise ValueError(f"{text!r}: expected {VC_ACCEPTED}")
    return name.strip(), int(nodes)
