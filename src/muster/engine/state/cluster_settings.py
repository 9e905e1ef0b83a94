"""The virtual clusters and the labels of nodes in force: read from their folder, read again when it changes, told to
each cluster's scheduler.

A file that is wrong, or promises more than there is, counts as it did before, and `problems` says why. So it is at a
start too: what was in force last is kept.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import structlog

from muster.domain.accounts import User
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.jobs import Held, Job, Queued
from muster.domain.nodes import Node, NodeSettings
from muster.domain.virtual_clusters import VirtualCluster
from muster.lib.nearest import nearest
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.usage_views import Quota, ShareView
from muster.settings.clusters import ClusterFolder, ClusterSettings
from muster.settings.folder_watch import folder_changes
from muster.settings.kept_files import KeptFiles
from muster.settings.last_good import settle
from muster.wire.cluster_views import LIMITS

_log = structlog.get_logger("engine.sharing")
DEFAULT = "default"
"""The virtual cluster of jobs that name the physical one, or none."""
QUEUED_JOBS = "queuedJobs"

Clusters = Mapping[str, ClusterState]


class Sharing:
    def __init__(self, folder: ClusterFolder | None = None, kept: KeptFiles | None = None) -> None:
        """Without `kept` nothing outlives the process."""
        self.virtual: dict[str, VirtualCluster] = {}
        self.writing = asyncio.Lock()
        self._folder = folder
        self._kept = kept
        self.texts: Mapping[str, str] = {}
        """Of the files in force."""
        self._taken = ClusterSettings()
        self._nodes: dict[tuple[str, str], NodeSettings] = {}
        self._wrong: tuple[Problem, ...] = ()
        self._broken_promises: dict[str, Problem] = {}
        self._unknown_nodes: dict[str, tuple[Problem, ...]] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the files as they are now, promises that the nodes do not allow any more, and settings of
        nodes that there are not."""
        unknown = (problem for found in self._unknown_nodes.values() for problem in found)
        return (*self._wrong, *self._broken_promises.values(), *unknown)

    def start(self, clusters: Clusters) -> None:
        """Before nodes are known. Wrong files are told, and keep nobody from starting."""
        if self._folder is None:
            return
        self.texts = self._last_texts()
        found = settle(self._folder, self.texts)
        self._tell(found.problems)
        self._take(found.settings, clusters)
        self._keep(found.texts)

    @property
    def folder(self) -> ClusterFolder | None:
        """Whoever writes there holds `writing`."""
        return self._folder

    @property
    def physical(self) -> tuple[PhysicalCluster, ...]:
        """What the files say of physical clusters."""
        return self._taken.physical

    async def follow(self, clusters: Clusters, settings_changed: Callable[[], Awaitable[None]]) -> None:
        """`settings_changed` is called after every reading."""
        if self._folder is None:
            return
        async for _ in folder_changes(self._folder.path, self._folder.files_beside):
            try:
                self.reload(clusters)
                await settings_changed()
            except Exception:
                _log.exception("cluster settings were not read")  # the next change finds the loop alive

    def reload(self, clusters: Clusters) -> None:
        """Read the folder again; a file that is wrong stays in force as it was."""
        assert self._folder is not None
        found = settle(self._folder, self.texts, lambda settings: self._oversubscription(settings.virtual, clusters))
        self._tell(found.problems)
        if found.settings != self._taken:
            self._take(found.settings, clusters)
            names, labelled = [vc.name for vc in self._taken.virtual], [node.name for node in self._taken.nodes]
            _log.info("cluster settings", virtual=names, nodes=labelled)
        self._keep(found.texts)

    def _last_texts(self) -> dict[str, str]:
        try:
            return self._kept.read() if self._kept else {}
        except (OSError, ValueError) as error:
            _log.warning("what was in force last cannot be read", error=str(error))
            return {}

    def _keep(self, texts: Mapping[str, str]) -> None:
        if texts == self.texts:
            return
        self.texts = texts
        try:
            if self._kept is not None:
                self._kept.write(texts)
        except OSError as error:
            _log.warning("the cluster files in force cannot be kept for the next start", error=str(error))

    def _tell(self, problems: tuple[Problem, ...]) -> None:
        if problems and problems != self._wrong:
            _log.error("cluster files are wrong", problems=[str(problem) for problem in problems])
        elif self._wrong and not problems:
            _log.info("cluster files are right again")
        self._wrong = problems

    def labelled(self, node: Node) -> Node:
        """With what admins wrote of it."""
        settings = self._nodes.get((node.cluster, node.name))
        return node if settings is None else settings.applied(node)

    def nodes_changed(self, cluster: ClusterState, nodes: Sequence[Node]) -> None:
        """Nodes come and go after the files were read: what does not hold any more is told, and stays."""
        self._look_for_broken_promises(cluster)
        unknown = tuple(self._unknown(cluster.name, [node.name for node in nodes]))
        if unknown and unknown != self._unknown_nodes.get(cluster.name):
            _log.warning("unknown nodes have settings", problems=[str(problem) for problem in unknown])
        self._unknown_nodes[cluster.name] = unknown

    def _unknown(self, cluster: str, known: Sequence[str]) -> Iterable[Problem]:
        """Of no node while none is known."""
        mine = [node for node in self._taken.nodes if node.cluster == cluster] if known else []
        return (_unknown_node(node, known) for node in mine if node.name not in known)

    def _look_for_broken_promises(self, cluster: ClusterState) -> None:
        told = cluster.oversubscribed(self.of(cluster.name)) if self.virtual else None
        if told is None:
            self._broken_promises.pop(cluster.name, None)
        elif self._broken_promises.get(cluster.name) != (problem := _oversubscribed(cluster.name, told)):
            self._broken_promises[cluster.name] = problem
            _log.error("guarantees exceed the cluster", cluster=cluster.name, problem=told)

    def of(self, cluster: str) -> list[VirtualCluster]:
        """Those on a physical cluster."""
        return [vc for vc in self.virtual.values() if vc.cluster == cluster]

    def _take(self, found: ClusterSettings, clusters: Clusters) -> None:
        before, self._taken = self._taken, found
        self._nodes = {(node.cluster, node.name): node for node in found.nodes}
        if found.virtual == before.virtual:
            return
        self.virtual = {vc.name: vc for vc in found.virtual}
        for cluster in clusters.values():
            cluster.configured(self.of(cluster.name))

    def _oversubscription(self, found: Sequence[VirtualCluster], clusters: Clusters) -> list[Problem]:
        """What is in force already may stay, whatever became of the nodes."""
        problems = []
        for name, cluster in clusters.items() if found != self._taken.virtual else ():
            mine = [vc for vc in found if vc.cluster == name]
            if mine and (told := cluster.oversubscribed(mine)):
                problems.append(_oversubscribed(name, told))
        return problems


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


def _unknown_node(node: NodeSettings, known: Sequence[str]) -> Problem:
    guess = nearest(node.name, known)
    hint = f"did you mean {guess}?" if guess else "see `muster get nodes`"
    return Problem("nodes", f"cluster {node.cluster} has no node {node.name!r}", hint, node.line, node.file)
