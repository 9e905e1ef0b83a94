"""The pods of a job that have to start together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from muster.kubernetes.amounts import PODS, Amounts, pod_requests, total
from muster.kubernetes.resources import Key
from muster.operator.job.paddle_job import PaddleJob, RoleSpec
from muster.operator.job.phases import ENDED, phase_of

_PLACING = ("nodeName", "nodeSelector", "affinity", "tolerations")
_HIGHEST = 10**9


@dataclass(frozen=True, slots=True)
class Members:
    """The pods of one role, which are alike."""

    role: str
    keys: tuple[Key, ...]
    spec: Mapping[str, Any]
    amounts: Amounts

    @property
    def signature(self) -> str:
        """Equal for members that fit in the same places."""
        return repr((len(self.keys), sorted(self.amounts.items()), [self.spec.get(key) for key in _PLACING]))


@dataclass(frozen=True, slots=True)
class Gang:
    uid: str
    key: Key
    """Namespace and name of the job."""
    attempt: str
    created_at: float
    priority: int
    members: tuple[Members, ...]
    has_started: bool = False
    refused_at: float | None = None
    """Since when the API server, which created some of its pods, has refused others."""

    @property
    def size(self) -> int:
        return sum(len(members.keys) for members in self.members)

    @property
    def pods(self) -> tuple[Key, ...]:
        return tuple(key for members in self.members for key in members.keys)

    def without(self, keys: Iterable[Key]) -> "Gang":
        """The gang without these pods."""
        gone = frozenset(keys)
        left = (replace(one, keys=tuple(key for key in one.keys if key not in gone)) for one in self.members)
        return replace(self, members=tuple(one for one in left if one.keys))

    @property
    def amounts(self) -> dict[str, int]:
        """What all pods request together."""
        return total(
            {name: amount * len(members.keys) for name, amount in members.amounts.items()} for members in self.members
        )

    @property
    def resources(self) -> dict[str, int]:
        """What all pods request together, without their number."""
        return {name: amount for name, amount in self.amounts.items() if name != PODS}

    @property
    def order(self) -> tuple[int, float, Key]:
        """Who comes first: higher priority, then older."""
        return -self.priority, self.created_at, self.key

    @property
    def signature(self) -> tuple[str, ...]:
        return (str(self.priority), *(members.signature for members in self.members))


def gang_of(
    job: PaddleJob,
    priorities: Mapping[str, int] | None = None,
    *,
    has_started: bool = False,
    refused_at: float | None = None,
) -> Gang:
    """The smallest gang with which the job may start: `minAvailable` pods if the job says so, the smallest number of
    each role if it is elastic, and all pods otherwise. `priorities` are the values of priority classes; the default is
    under the empty name."""
    least = minimum(job)
    members: list[Members] = []
    for role in job.roles:
        wanted = role.minimum if least is None else min(role.replicas, least)
        if least is not None:
            least -= wanted
        if wanted:
            spec = role.template["spec"]
            keys = tuple((job.namespace, job.pod_name(role.name, index)) for index in range(wanted))
            members.append(Members(role.name, keys, spec, pod_requests(spec)))
    return Gang(
        uid=job.uid,
        key=(job.namespace, job.name),
        attempt=str(job.attempt),
        created_at=job.created_at,
        priority=_priority(job, priorities or {}),
        members=tuple(members),
        has_started=has_started,
        refused_at=refused_at,
    )


def is_over(job: PaddleJob) -> bool:
    """Whether the job has ended, or is suspended and has no right to room. Its templates may be malformed by now."""
    return job.is_suspended or phase_of(job) in ENDED


def minimum(job: PaddleJob) -> int | None:
    """`schedulingPolicy.minAvailable`, if it can be used."""
    given = job.scheduling.get("minAvailable")
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        return None
    return min(given, job.pod_count)


def scheduler_names(job: PaddleJob) -> set[str]:
    """The schedulers that the templates name."""
    return {_scheduler_name(role) for role in job.roles} - {""}


def _scheduler_name(role: RoleSpec) -> str:
    return str(role.template["spec"].get("schedulerName") or "")


def _priority(job: PaddleJob, priorities: Mapping[str, int]) -> int:
    names = {str(role.template["spec"].get("priorityClassName") or "") for role in job.roles}
    policy = job.scheduling.get("priorityClass")
    found = [priorities.get(name, 0) for name in ({str(policy)} if policy else names)]
    return min(max(found, default=0), _HIGHEST)
