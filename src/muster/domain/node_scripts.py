"""The programs of an admin that run on the nodes of a cluster, under the account of the agent."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """A program that says whether a node works. While it fails, the node gets no new tasks."""

    name: str
    command: tuple[str, ...]
    every_s: float
    timeout_s: float


@dataclass(frozen=True, slots=True)
class TaskScript:
    command: tuple[str, ...]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class NodeScripts:
    health_checks: tuple[HealthCheck, ...] = ()
    prolog: TaskScript | None = None
    """Runs before each task. If it fails, the task does not start there, and the node is held."""
    epilog: TaskScript | None = None
    """Runs after the end of each task. If it fails, the node is held."""
