"""The virtual clusters in force: read from their folder, read again when it changes, told to each cluster's scheduler.

A reading that is wrong, or promises more than there is, changes nothing: the ones before stay, and `problems` says why.
"""

import asyncio
from collections.abc import Iterable, Mapping

import structlog

from muster.domain.accounts import User
from muster.domain.errors import Invalid, Problem
from muster.domain.jobs import Held, Job, Queued
from muster.domain.virtual_clusters import VirtualCluster
from muster.scheduling.state import ClusterState
from muster.scheduling.views import Quota, ShareView
from muster.settings.clusters import ClusterFolder
from muster.settings.watching import folder_changes
from muster.wire.cluster_views import LIMITS

_log = structlog.get_logger("engine.sharing")
DEFAULT = "default"
"""The virtual cluster of jobs that name the physical one, or none."""
QUEUED_JOBS = "queuedJobs"

Clusters = Mapping[str, ClusterState]


class Sharing:
    def __init__(self, folder: ClusterFolder | None = None) -> None:
        self.virtual: dict[str, VirtualCluster] = {}
        self._folder = folder
        self._wrong: tuple[Problem, ...] = ()
        self._broken_promises: dict[str, Problem] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the files as they are now, and promises that the nodes do not allow any more."""
        return (*self._wrong, *self._broken_promises.values())

    def start(self, clusters: Clusters) -> None:
        """Before nodes are known. Raises Invalid: nothing starts with wrong settings."""
        if self._folder is not None:
            self._take(self._folder.read(), clusters)

    async def follow(self, clusters: Clusters, wake: asyncio.Event) -> None:
        if self._folder is None:
            return
        async for _ in folder_changes(self._folder.path):
            try:
                self.reload(clusters)
            except Exception:
                _log.exception("virtual clusters were not read")  # the next change finds the loop alive
            wake.set()

    def reload(self, clusters: Clusters) -> None:
        """Read the folder again; what is wrong leaves everything as it is."""
        assert self._folder is not None
        try:
            found = self._folder.read()
            is_new = found != tuple(self.virtual.values())
            if is_new:
                self._refuse_oversubscription(found, clusters)
        except Invalid as error:
            if error.problems != self._wrong:
                _log.error("virtual clusters stay as they were", problems=[str(problem) for problem in error.problems])
            self._wrong = error.problems
            return
        self._wrong = ()
        if is_new:
            self._take(found, clusters)
            _log.info("virtual clusters", names=[vc.name for vc in found])

    def nodes_changed(self, cluster: ClusterState) -> None:
        """Nodes come and go after the promise was made: that is told, and the promise stays."""
        told = cluster.oversubscribed(self.of(cluster.name)) if self.virtual else None
        if told is None:
            self._broken_promises.pop(cluster.name, None)
        elif self._broken_promises.get(cluster.name) != (problem := _oversubscribed(cluster.name, told)):
            self._broken_promises[cluster.name] = problem
            _log.error("guarantees exceed the cluster", cluster=cluster.name, problem=told)

    def of(self, cluster: str) -> list[VirtualCluster]:
        """Those on a physical cluster."""
        return [vc for vc in self.virtual.values() if vc.cluster == cluster]

    def _take(self, found: Iterable[VirtualCluster], clusters: Clusters) -> None:
        self.virtual = {vc.name: vc for vc in found}
        for cluster in clusters.values():
            cluster.configured(self.of(cluster.name))
            self.nodes_changed(cluster)

    def _refuse_oversubscription(self, found: Iterable[VirtualCluster], clusters: Clusters) -> None:
        problems = []
        for name, cluster in clusters.items():
            mine = [vc for vc in found if vc.cluster == name]
            if mine and (told := cluster.oversubscribed(mine)):
                problems.append(_oversubscribed(name, told))
        if problems:
            raise Invalid("more is guaranteed than there is", problems=tuple(problems))


def may_use(vc: VirtualCluster, user: User) -> bool:
    """Admins may use all: they could let themselves in."""
    is_open = not vc.users and not vc.groups
    return is_open or user.is_admin or user.name in vc.users or not set(vc.groups).isdisjoint(user.groups)


def shares_of(clusters: Clusters, now: float) -> dict[str, ShareView]:
    """By virtual cluster."""
    return {share.vc: share for cluster in clusters.values() for share in cluster.shares(now)}


def quotas_of(
    sharing: Sharing, clusters: Clusters, jobs: Iterable[Job], now: float, user: User | None = None
) -> list[Quota]:
    """Every limit with what is used of it, or those that a user meets. `jobs` are the open ones."""
    told = [quota for cluster in clusters.values() for quota in cluster.quotas(now)] if sharing.virtual else []
    known = [quota for quota in told if quota.kind != QUEUED_JOBS] + list(_queue_quotas(sharing, jobs))
    quotas = {(quota.vc, quota.user, quota.kind): quota for quota in [*_unused(sharing, user), *known]}
    met = {vc.name for vc in sharing.virtual.values() if user is None or may_use(vc, user)}
    return [quotas[key] for key in sorted(quotas) if key[0] in met and (user is None or key[1] in ("", user.name))]


def in_queue(jobs: Iterable[Job], vc: str) -> list[Job]:
    """Those that have not started, held ones too, as the limit of queued jobs counts them."""
    return [job for job in jobs if job.vc == vc and isinstance(job.state, Queued | Held)]


def _unused(sharing: Sharing, user: User | None) -> Iterable[Quota]:
    """A limit is there before anything is used of it."""
    for vc in sharing.virtual.values():
        for name, limits in (("", vc.limits), *(((user.name, vc.user_limits),) if user else ())):
            for kind, attribute in LIMITS.items():
                if (limit := getattr(limits, attribute)) is not None:
                    yield Quota(vc.name, name, kind, limit, 0)


def _queue_quotas(sharing: Sharing, jobs: Iterable[Job]) -> Iterable[Quota]:
    """Counted where they are enforced: at admission."""
    jobs = list(jobs)
    for vc in sharing.virtual.values():
        of_all, of_each = vc.limits.queued_jobs, vc.user_limits.queued_jobs
        if of_all is None and of_each is None:
            continue
        owners = [job.owner for job in in_queue(jobs, vc.name)]
        if of_all is not None:
            yield Quota(vc.name, "", QUEUED_JOBS, of_all, len(owners))
        if of_each is not None:
            yield from (Quota(vc.name, name, QUEUED_JOBS, of_each, owners.count(name)) for name in sorted(set(owners)))


def _oversubscribed(cluster: str, told: str) -> Problem:
    hint = "lower `guaranteed` of some virtual clusters, or add nodes"
    return Problem("guaranteed", f"more is guaranteed on cluster {cluster} than it has: {told}", hint)
