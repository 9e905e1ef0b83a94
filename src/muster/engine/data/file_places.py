"""Decides which folder a path is in, whether the user may use it, and which node is asked. It touches no file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from muster.domain.access import may_use
from muster.domain.accounts import User
from muster.domain.clusters import Folder, folder_label
from muster.domain.errors import Forbidden, Invalid, NotFound, Unavailable
from muster.domain.nodes import Node, NodeState
from muster.engine.cluster_access import physical_cluster
from muster.engine.context import Context
from muster.lib.nearest import nearest
from muster.ports.capabilities import required
from muster.ports.files import FileSpace, Place

_REACHABLE = (NodeState.READY, NodeState.CORDONED, NodeState.DRAINING)
_GOOD = (None, "ok")


@dataclass(frozen=True, slots=True)
class Address:
    """`path` begins with the name of a folder. `node` is needed if each node has a folder of its own."""

    cluster: str
    path: str
    node: str | None = None

    @property
    def folder(self) -> str:
        return self.path.lstrip("/").partition("/")[0]

    @property
    def rest(self) -> str:
        return self.path.lstrip("/").partition("/")[2]

    @property
    def shown(self) -> str:
        return f"{self.cluster}/{self.node}:{self.path}" if self.node else f"{self.cluster}:{self.path}"


class Places:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._kept: dict[tuple[str, ...], str] = {}
        """The node that serves shared folders: it is the first one to see what was just written."""

    def folders(self, user: User, cluster: str) -> list[Folder]:
        """The folders that the user may use."""
        settings = self._context.backends[self.cluster(user, cluster)].settings
        return [folder for folder in settings.folders if may_use(folder, user)]

    def cluster(self, user: User, name: str) -> str:
        """The physical cluster; for a virtual one, the cluster that it is part of."""
        return physical_cluster(self._context, user, name)

    def space(self, user: User, cluster: str) -> FileSpace:
        name = self.cluster(user, cluster)
        return required(self._context.backends[name].capabilities.files, "files", name)

    def place(self, user: User, address: Address, *, changing: bool = False) -> Place:
        return self.places(user, [(address, changing)])[0]

    def places(self, user: User, addresses: Sequence[tuple[Address, bool]]) -> list[Place]:
        """The places of all addresses, on one node. The flag says whether something changes there."""
        cluster = self.cluster(user, addresses[0][0].cluster)
        if any(self.cluster(user, address.cluster) != cluster for address, _ in addresses):
            raise Invalid("both paths must be on the same cluster", hint="get it here, then put it there")
        folders = [self._folder(user, cluster, address, changing) for address, changing in addresses]
        named = {address.node for address, _ in addresses if address.node}
        if len(named) > 1:
            raise Invalid("both paths must be on the same node", hint="get it here, then put it there")
        node = self._named(cluster, named.pop(), folders) if named else self._any(cluster, folders)
        return [
            Place(node, folder.path, address.rest, address.shown, None if user.is_admin else user.name)
            for folder, (address, _) in zip(folders, addresses, strict=True)
        ]

    def _folder(self, user: User, cluster: str, address: Address, changing: bool) -> Folder:
        visible = {folder.name: folder for folder in self.folders(user, cluster)}
        if not address.folder:
            raise Invalid(f"{address.shown} names no folder", hint=f"list them: muster fs ls {address.cluster}:")
        folder = visible.get(address.folder)
        if folder is None:
            guess = nearest(address.folder, list(visible))
            hint = f"did you mean {guess}?" if guess else f"list them: muster fs ls {address.cluster}:"
            raise NotFound(f"cluster {cluster} has no folder {address.folder!r}", hint=hint)
        if changing and folder.read_only:
            raise self._for_reading(cluster, folder)
        return folder

    def _for_reading(self, cluster: str, folder: Folder) -> Forbidden:
        """Nobody, not even an admin, writes to a read-only folder through Muster: the cluster file has to be
        changed."""
        file = PurePath(self._context.backends[cluster].settings.file).name
        where = f"clusters.d/{file}" if file else "the cluster's file in clusters.d"
        return Forbidden(
            f"folder {folder.name} of cluster {cluster} is read-only",
            hint=f"it has `readOnly: true` in {where}, which holds for admins too",
        )

    def _named(self, cluster: str, name: str, folders: Sequence[Folder]) -> str:
        node = next((node for node in self._context.nodes(cluster) if node.name == name), None)
        if node is None:
            raise NotFound(f"cluster {cluster} has no node {name!r}", hint="see `muster get nodes`")
        if node.state not in _REACHABLE:
            raise Unavailable(f"node {name} is {node.state}", hint="choose another node, or wait")
        for folder in folders:
            if not _has(node, folder):
                label = node.labels.get(folder_label(folder.name))
                raise Unavailable(f"folder {folder.name} is not usable on node {name}: {label}", hint="ask an admin")
        return name

    def _any(self, cluster: str, folders: Sequence[Folder]) -> str:
        nodes = self._context.nodes(cluster)
        own = next((folder for folder in folders if not folder.shared), None)
        if own is not None and len(nodes) > 1:
            names = ", ".join(node.name for node in nodes[:5])
            raise Invalid(
                f"every node of {cluster} has its own folder {own.name}: name the node",
                hint=f"as {cluster}/NODE:{own.name}; nodes are {names}",
            )
        good = [node.name for node in nodes if node.is_usable and all(_has(node, folder) for folder in folders)]
        if not good:
            names = " and ".join(sorted({folder.name for folder in folders}))
            raise Unavailable(f"no node of {cluster} is ready to give access to {names}", hint="see `muster get nodes`")
        key = (cluster, *sorted({folder.name for folder in folders}))
        if self._kept.get(key) not in good:
            self._kept[key] = good[0]
        return self._kept[key]


def _has(node: Node, folder: Folder) -> bool:
    return node.labels.get(folder_label(folder.name)) in _GOOD
