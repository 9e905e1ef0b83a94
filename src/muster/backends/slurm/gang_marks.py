"""What the login node reports about a gang: the number of its job, and the marks that its tasks have left."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.backends.agents.used_resources import used_resources
from muster.backends.slurm.answers.amounts import Amounts, read_amounts
from muster.domain.used_resources import UsedResources


@dataclass(frozen=True, slots=True)
class Begin:
    at: float
    node: str


@dataclass(frozen=True, slots=True)
class End:
    at: float
    exit_code: int | None = None
    signal: int | None = None
    is_ordered: bool = False
    is_from_outside: bool = False
    """Whether somebody else than Muster sent it a signal before: Slurm, for a reason that its state tells."""
    is_unless_slurm_knows: bool = False
    """Whether it counts only if the state of its job says nothing but that it is over: who cancels a job while it
    starts makes srun fail."""
    error_code: str = ""
    error_message: str = ""
    node: str = ""
    used: UsedResources | None = None
    kept: Mapping[str, Any] | None = None
    """The end as Slurm told it, if the task could not write its own."""

    @property
    def may_be_told_otherwise(self) -> bool:
        return self.is_from_outside or self.is_unless_slurm_knows


@dataclass(frozen=True, slots=True)
class TaskMarks:
    task_id: str
    begin: Begin | None = None
    end: End | None = None
    is_ordered: bool = False
    """Whether Muster has ordered it to stop."""

    @property
    def role(self) -> str:
        return self.task_id.rsplit(".", 2)[-2]


@dataclass(frozen=True, slots=True)
class GangMarks:
    key: str
    job: str
    name: str
    """The name of its job in Slurm. A job of another name has got its number, after Slurm had forgotten ours."""
    tasks: tuple[TaskMarks, ...]
    user: str = ""
    amounts: Amounts = field(default_factory=Amounts)
    """What its job holds while it runs."""
    relay: str = ""
    """Where its nodes look for the login node if they share no folder with it: names and at last a port."""
    task_gpus: Mapping[str, int] = field(default_factory=dict)
    """How many of the GPUs each task of a role has."""
    login: str = ""
    """The user by whose login it was submitted, if users have logins."""

    @property
    def handle(self) -> str:
        return handle_of(self.job, self.login)

    @property
    def is_over(self) -> bool:
        return all(task.end is not None and not task.end.may_be_told_otherwise for task in self.tasks)


def handle_of(job: str, login: str) -> str:
    """What the server keeps of a task: the number of its job, and by whose login it is found."""
    return f"{job}@{login}" if login else job


def login_in(handle: str) -> str:
    return handle.partition("@")[2]


def read_gang(told: Mapping[str, Any], login: str = "") -> GangMarks:
    tasks = tuple(read_task(one) for one in told["tasks"])
    amounts = told.get("amounts") or {}
    return GangMarks(
        str(told["key"]),
        str(told["job"]),
        str(told["name"]),
        tasks,
        str(told.get("user") or ""),
        read_amounts(amounts),
        str(told.get("relay") or ""),
        {str(role): int(count) for role, count in (amounts.get("task_gpus") or {}).items()},
        login,
    )


def read_task(told: Mapping[str, Any]) -> TaskMarks:
    begin, end = told.get("begin"), told.get("end")
    return TaskMarks(
        str(told["task"]),
        None if begin is None else Begin(float(begin["at"]), str(begin["node"])),
        None if end is None else _end(end),
        bool(told.get("ordered")),
    )


def _end(told: Mapping[str, Any]) -> End:
    used = used_resources(told.get("used"))
    if used is None and told.get("cpu_s") is not None:
        used = UsedResources(cpu_s=float(told["cpu_s"]), peak_memory_bytes=int(told["memory_bytes"]))
    return End(
        at=float(told["at"]),
        exit_code=told.get("code"),
        signal=told.get("signal"),
        is_ordered=bool(told.get("ordered")),
        is_from_outside=bool(told.get("from_outside")),
        is_unless_slurm_knows=bool(told.get("unless_slurm_knows")),
        error_code=str(told.get("error") or ""),
        error_message=str(told.get("message") or ""),
        node=str(told.get("node") or ""),
        used=used,
        kept=told.get("kept"),
    )
