"""Nodes and partitions as `scontrol show` prints them.

That says the same in all releases, unlike its JSON."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from muster.backends.slurm.answers.gres import gpu_indices, gpus_by_type, tracked_gpus, tracked_memory_bytes
from muster.backends.slurm.answers.node_lists import expand
from muster.backends.slurm.answers.node_states import NodeCondition, node_condition, split_state
from muster.backends.slurm.answers.times import read_length_s

NODES_COMMAND = ("scontrol", "--all", "--details", "--oneliner", "show", "node")
"""Only with details does Slurm say which GPUs are in use."""
PARTITIONS_COMMAND = ("scontrol", "--all", "--oneliner", "show", "partition")
_MIB = 1 << 20
_KEY = re.compile(r"(?:^|\s)([A-Za-z][\w:]*)=")


@dataclass(frozen=True, slots=True)
class NodeRecord:
    name: str
    address: str
    condition: NodeCondition
    cpus: int
    memory_bytes: int
    gpus: Mapping[str, int] = field(default_factory=dict)
    """The number of GPUs of each type; the type is empty for GPUs that have none."""
    used_cpus: int = 0
    used_memory_bytes: int = 0
    used_gpus: Mapping[str, int] = field(default_factory=dict)
    used_indices: tuple[int, ...] = ()
    """Which GPUs those are, if Slurm says it."""
    partitions: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    reason: str = ""
    """What an administrator or Slurm wrote down about it."""
    version: str = ""


@dataclass(frozen=True, slots=True)
class PartitionRecord:
    name: str
    nodes: tuple[str, ...]
    is_up: bool
    is_default: bool = False
    max_time_s: float | None = None
    """None means that there is no limit."""
    max_nodes: int | None = None
    priority_tier: int = 1


def read_nodes(output: str) -> Iterator[NodeRecord]:
    for line in output.splitlines():
        if line.startswith("NodeName="):
            yield _node(_facts(line))


def read_partitions(output: str) -> Iterator[PartitionRecord]:
    for line in output.splitlines():
        if line.startswith("PartitionName="):
            facts = _facts(line)
            yield PartitionRecord(
                facts["PartitionName"],
                expand(facts.get("Nodes", "")),
                facts.get("State") == "UP",
                facts.get("Default") == "YES",
                read_length_s(facts.get("MaxTime", "")),
                int(facts["MaxNodes"]) if facts.get("MaxNodes", "").isdigit() else None,
                int(facts.get("PriorityTier") or 1),
            )


def _node(facts: Mapping[str, str]) -> NodeRecord:
    tres, used = facts.get("CfgTRES", ""), facts.get("AllocTRES", "")
    used_bytes = int(facts.get("AllocMem") or 0) * _MIB
    return NodeRecord(
        facts["NodeName"],
        facts.get("NodeAddr", ""),
        node_condition(split_state(facts.get("State", ""))),
        int(facts.get("CPUEfctv") or facts.get("CPUTot") or 0),
        int(facts.get("RealMemory") or 0) * _MIB,
        gpus_by_type(facts.get("Gres", "")) or tracked_gpus(tres),
        int(facts.get("CPUAlloc") or 0),
        used_bytes or tracked_memory_bytes(used) or 0,
        gpus_by_type(facts.get("GresUsed", "")) or tracked_gpus(used),
        gpu_indices(facts.get("GresUsed", "")),
        tuple(name for name in facts.get("Partitions", "").split(",") if name),
        tuple(name for name in facts.get("ActiveFeatures", "").split(",") if name and name != "(null)"),
        facts.get("Reason", ""),
        facts.get("Version", ""),
    )


def _facts(line: str) -> dict[str, str]:
    """Values may contain spaces, as those of OS and Reason do: a value ends where the next key begins. The reason comes
    last, and may contain whatever an administrator wrote."""
    line, _, reason = line.partition(" Reason=")
    found = list(_KEY.finditer(line))
    ends = [match.start() for match in found[1:]] + [len(line)]
    facts = {match[1]: line[match.end() : end].strip() for match, end in zip(found, ends, strict=True)}
    return {**facts, "Reason": _without_author(reason)} if reason else facts


def _without_author(reason: str) -> str:
    """`disk full [root@2026-11-18T02:31:41]`, and a remark that may follow."""
    return re.sub(r"\s*\[[^\[\]]*@[^\[\]]*\].*$", "", reason).strip()
