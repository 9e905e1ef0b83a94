"""Which pods are members of the gang, that is, know each other: all of them, or for an elastic job at least as many as
it needs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from muster.operator.job.paddle_job import Intranet, PaddleJob
from muster.operator.job.pod_states import PodView

_ELASTIC_PATIENCE_S = 10.0
"""How long an elastic job waits for all its pods before it starts with those that it has."""


@dataclass(frozen=True, slots=True)
class Membership:
    addresses: Mapping[str, str] = field(default_factory=dict)
    """The address of each member by the pod's name; empty while the gang is incomplete."""
    decided_at: float | None = None
    """When an elastic job will start with the pods that it then has."""


def membership(job: PaddleJob, pods: Collection[PodView], now: float) -> Membership:
    """`pods` are those of the current attempt that nobody deletes."""
    if job.intranet is Intranet.SERVICE and not job.is_elastic:
        return Membership({name: name for name in job.pod_names})
    own_names = job.intranet is Intranet.SERVICE
    wanted = frozenset(job.pod_names)
    found = {pod.name: pod.name if own_names else pod.address for pod in pods if pod.name in wanted and pod.address}
    if len(found) == len(wanted):
        return Membership(found)
    if not job.is_elastic or not _suffices(job, pods, found):
        return Membership()
    if any(pod.peers for pod in pods):
        return Membership(found)  # it has started already
    patience_ends = max(pod.created_at for pod in pods) + _ELASTIC_PATIENCE_S
    return Membership(found) if now >= patience_ends else Membership(decided_at=patience_ends)


def _suffices(job: PaddleJob, pods: Collection[PodView], found: Mapping[str, str]) -> bool:
    return all(sum(pod.role == role.name and pod.name in found for pod in pods) >= role.minimum for role in job.roles)
