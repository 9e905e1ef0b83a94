"""What the processes of a job's tasks stood at, at one moment."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskStacks:
    task: str
    node: str
    text: str = ""
    problem: str = ""
    """Why nothing could be collected."""


@dataclass(frozen=True, slots=True)
class Stacks:
    at: float
    by: str
    attempt: int
    tasks: tuple[TaskStacks, ...]
    left_out: int = 0
    """How many running tasks were not asked, because there are too many."""
