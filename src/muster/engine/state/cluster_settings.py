"""The configuration of clusters that is in force: virtual clusters, labels of nodes and physical clusters.

It is read again when it changes, and each cluster's scheduler gets its virtual clusters. Where the new configuration is
wrong, or guarantees more than the cluster has, the old one stays in force, and `problems` says why.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import structlog

from muster.domain.access import may_use
from muster.domain.accounts import User
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.jobs import Held, Job, Queued
from muster.domain.nodes import Node, NodeSettings
from muster.domain.resources import Reserved
from muster.domain.virtual_clusters import LIMITS, VirtualCluster
from muster.lib.nearest import nearest
from muster.ports.cluster_config import ClusterConfig, ClusterSettings, LastGood
from muster.scheduling.allocations.usage_views import Quota, ShareView
from muster.scheduling.cluster_state import ClusterState

_log = structlog.get_logger("engine.cluster_settings")
DEFAULT = "default"
"""The virtual cluster of jobs that name the physical one, or none."""
QUEUED_JOBS = "queuedJobs"

Clusters = Mapping[str, ClusterState]


class ActiveConfig:
    def __init__(self, source: ClusterConfig | None = None, lasting: Sequence[Problem] = ()) -> None:
        """Without `source` there are only the clusters that the server always has. `lasting` are problems that admins
        see as long as the server runs, such as a plugin that cannot be loaded."""
        self._lasting = tuple(lasting)
        self.virtual: dict[str, VirtualCluster] = {}
        self.writing = asyncio.Lock()
        """Held while a node is added or removed."""
        self.source = source
        self._taken = ClusterSettings()
        self._nodes: dict[tuple[str, str], NodeSettings] = {}
        self._wrong: tuple[Problem, ...] = ()
        self._oversubscribed: dict[str, Problem] = {}
        self._unknown_nodes: dict[str, tuple[Problem, ...]] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the files as they are now, guarantees that the nodes no longer allow, and settings of unknown
        nodes."""
        unknown = (problem for found in self._unknown_nodes.values() for problem in found)
        return (*self._lasting, *self._wrong, *self._oversubscribed.values(), *unknown)

    def start(self, clusters: Clusters) -> None:
        """Read the files, before nodes are known. Mistakes are reported, and do not keep the server from starting."""
        if self.source is not None:
            self._use(self.source.read(), clusters)

    @property
    def physical(self) -> tuple[PhysicalCluster, ...]:
        """The physical clusters that the files describe."""
        return self._taken.physical

    @property
    def gpu_hour_prices(self) -> Mapping[str, float | None]:
        """What an hour of one GPU costs on each physical cluster; None where nobody reckons."""
        return {cluster.name: cluster.gpu_hour_price for cluster in self.physical}

    async def follow(self, clusters: Clusters, settings_changed: Callable[[], Awaitable[None]]) -> None:
        """Read the files whenever they change, and call `settings_changed` after every reading."""
        if self.source is None:
            return
        async for _ in self.source.changes():
            try:
                self.reload(clusters)
                await settings_changed()
            except Exception:
                _log.exception("cluster settings were not read")  # the next change finds the loop alive

    def reload(self, clusters: Clusters) -> None:
        """Read the configuration again. Where it is wrong, the old one stays in force."""
        assert self.source is not None
        before = self._taken
        self._use(self.source.read(lambda found: self.refusals(found, clusters)), clusters)
        if self._taken != before:
            names, labelled = [vc.name for vc in self._taken.virtual], [node.name for node in self._taken.nodes]
            _log.info("cluster settings", virtual=names, nodes=labelled)

    def _use(self, found: LastGood, clusters: Clusters) -> None:
        self._report(found.problems)
        if found.settings != self._taken:
            self._take(found.settings, clusters)

    def _report(self, problems: tuple[Problem, ...]) -> None:
        if problems and problems != self._wrong:
            _log.error("cluster files are wrong", problems=[str(problem) for problem in problems])
        elif self._wrong and not problems:
            _log.info("cluster files are right again")
        self._wrong = problems

    def reserved(self, node: Node) -> Reserved | None:
        """What admins reserve on this very node."""
        settings = self._nodes.get((node.cluster, node.name))
        return None if settings is None else settings.reserved

    def max_tasks(self, node: Node) -> int | None:
        """How many tasks admins allow on this very node."""
        settings = self._nodes.get((node.cluster, node.name))
        return None if settings is None else settings.max_tasks

    def labelled(self, node: Node) -> Node:
        """The node with the settings that admins wrote for it."""
        settings = self._nodes.get((node.cluster, node.name))
        return node if settings is None else settings.applied(node)

    def nodes_changed(self, cluster: ClusterState, nodes: Sequence[Node]) -> None:
        """Check the configuration against the nodes as they are now. What no longer holds is reported, and stays in
        force."""
        self._check_guarantees(cluster)
        unknown = tuple(self._unknown(cluster.name, [node.name for node in nodes]))
        if unknown and unknown != self._unknown_nodes.get(cluster.name):
            _log.warning("unknown nodes have settings", problems=[str(problem) for problem in unknown])
        self._unknown_nodes[cluster.name] = unknown

    def _unknown(self, cluster: str, known: Sequence[str]) -> Iterable[Problem]:
        """The settings of nodes that the cluster does not have. None are reported while no node is known."""
        mine = [node for node in self._taken.nodes if node.cluster == cluster] if known else []
        return (_unknown_node(node, known) for node in mine if node.name not in known)

    def _check_guarantees(self, cluster: ClusterState) -> None:
        excess = cluster.oversubscribed(self.of(cluster.name)) if self.virtual else None
        if excess is None:
            self._oversubscribed.pop(cluster.name, None)
        elif self._oversubscribed.get(cluster.name) != (problem := _oversubscribed(cluster.name, excess)):
            self._oversubscribed[cluster.name] = problem
            _log.error("guarantees exceed the cluster", cluster=cluster.name, problem=excess)

    def of(self, cluster: str) -> list[VirtualCluster]:
        """The virtual clusters on a physical cluster."""
        return [vc for vc in self.virtual.values() if vc.cluster == cluster]

    def _take(self, found: ClusterSettings, clusters: Clusters) -> None:
        before, self._taken = self._taken, found
        self._nodes = {(node.cluster, node.name): node for node in found.nodes}
        if found.virtual == before.virtual:
            return
        self.virtual = {vc.name: vc for vc in found.virtual}
        for cluster in clusters.values():
            cluster.configured(self.of(cluster.name))

    def refusals(self, found: ClusterSettings, clusters: Clusters) -> list[Problem]:
        """Why these settings would not be used although they can be read."""
        return self._oversubscription(found.virtual, clusters)

    def _oversubscription(self, found: Sequence[VirtualCluster], clusters: Clusters) -> list[Problem]:
        """The clusters on which new settings guarantee too much. What is in force already may stay."""
        problems = []
        for name, cluster in clusters.items() if found != self._taken.virtual else ():
            mine = [vc for vc in found if vc.cluster == name]
            if mine and (excess := cluster.oversubscribed(mine)):
                problems.append(_oversubscribed(name, excess))
        return problems


def shares_of(clusters: Clusters, now: float) -> dict[str, ShareView]:
    """The shares of all virtual clusters, by name."""
    return {share.vc: share for cluster in clusters.values() for share in cluster.shares(now)}


def quotas_of(
    config: ActiveConfig, clusters: Clusters, jobs: Iterable[Job], now: float, user: User | None = None
) -> list[Quota]:
    """Every limit with what is used of it, or only those that apply to `user`. `jobs` are the open ones."""
    found = [quota for cluster in clusters.values() for quota in cluster.quotas(now)] if config.virtual else []
    known = [quota for quota in found if quota.kind != QUEUED_JOBS] + list(_queue_quotas(config, jobs))
    quotas = {(quota.vc, quota.user, quota.kind): quota for quota in [*_unused(config, user), *known]}
    usable = {vc.name for vc in config.virtual.values() if user is None or may_use(vc, user)}
    return [quotas[key] for key in sorted(quotas) if key[0] in usable and (user is None or key[1] in ("", user.name))]


def in_queue(jobs: Iterable[Job], vc: str) -> list[Job]:
    """The jobs that count against the limit of queued jobs: those that wait for a start, and held ones."""
    return [job for job in jobs if job.vc == vc and isinstance(job.state, Queued | Held)]


def _unused(config: ActiveConfig, user: User | None) -> Iterable[Quota]:
    """All limits with nothing used, so that a limit is listed before anything counts against it."""
    for vc in config.virtual.values():
        for name, limits in (("", vc.limits), *(((user.name, vc.user_limits),) if user else ())):
            for kind, attribute in LIMITS.items():
                if (limit := getattr(limits, attribute)) is not None:
                    yield Quota(vc.name, name, kind, limit, 0)


def _queue_quotas(config: ActiveConfig, jobs: Iterable[Job]) -> Iterable[Quota]:
    """The limits of queued jobs, which are enforced at admission."""
    jobs = list(jobs)
    for vc in config.virtual.values():
        of_all, of_each = vc.limits.queued_jobs, vc.user_limits.queued_jobs
        if of_all is None and of_each is None:
            continue
        owners = [job.owner for job in in_queue(jobs, vc.name)]
        if of_all is not None:
            yield Quota(vc.name, "", QUEUED_JOBS, of_all, len(owners))
        if of_each is not None:
            yield from (Quota(vc.name, name, QUEUED_JOBS, of_each, owners.count(name)) for name in sorted(set(owners)))


def _oversubscribed(cluster: str, excess: str) -> Problem:
    hint = "lower `guaranteed` of some virtual clusters, or add nodes"
    return Problem("guaranteed", f"more is guaranteed on cluster {cluster} than it has: {excess}", hint)


def _unknown_node(node: NodeSettings, known: Sequence[str]) -> Problem:
    guess = nearest(node.name, known)
    hint = f"did you mean {guess}?" if guess else "see `muster get nodes`"
    return Problem("nodes", f"cluster {node.cluster} has no node {node.name!r}", hint, node.line, node.file)
