"""A physical cluster as an admin describes it, with the settings that clusters of all backends have.

Settings that only one backend knows, such as how to reach its machines, are in `options` and in the nodes, and no other
code looks at them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Protocol

from muster.domain.access import Access
from muster.domain.isolation import IsolationSettings
from muster.domain.node_scripts import NodeScripts
from muster.domain.resources import TASKS_PER_NODE, DeviceFiles, Reserved

RESERVED = "muster/"
"""The prefix of labels that say what a node was found to have. Only the backend sets them."""
CONDA = f"{RESERVED}conda"
CONTAINERS = f"{RESERVED}containers"
"""The value of this label is the container engine of the node: podman, docker or apptainer."""
CONTAINER_GPUS = f"{RESERVED}container-gpus"
"""Nodes with this label can pass GPUs to containers."""


def folder_label(name: str) -> str:
    """The label of nodes on which the folder passed its check."""
    return f"{RESERVED}folder.{name}"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder on the nodes that people and jobs refer to by its name."""

    name: str
    path: str
    """The absolute path on the nodes."""
    shared: bool = True
    """Whether all nodes see the same files; if not, each node has its own."""
    read_only: bool = False
    users: tuple[str, ...] = ()
    """Who may use the folder. If `groups` is empty too, everybody may."""
    groups: tuple[str, ...] = ()

    def contains(self, path: str) -> bool:
        """Whether an absolute path is this folder or in it."""
        own = PurePosixPath(self.path)
        return PurePosixPath(path).is_relative_to(own) and ".." not in path.split("/")


class ClusterNode(Protocol):
    """A node in the files of its cluster. The class of the backend has more fields. Nodes that differ only in `file`
    and `line` are equal."""

    @property
    def name(self) -> str: ...

    @property
    def host(self) -> str:
        """The host name or address by which the server reaches the machine."""

    @property
    def shown_login(self) -> str:
        """How the server logs in, as text for admins, without any secret."""

    @property
    def audit_facts(self) -> Mapping[str, Any]:
        """The fields that the audit log records when a command adds the node."""

    @property
    def file(self) -> str: ...

    @property
    def line(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class SetupCache:
    """How much each node keeps of what the setups of jobs have prepared."""

    most_bytes: int = 20 << 30
    """A fifth of the disk at most, however much this is."""
    unused_s: float = 14 * 86400.0
    """What no task has used for this long is removed."""


@dataclass(frozen=True, slots=True)
class PhysicalCluster:
    name: str
    backend: str
    nodes: tuple[ClusterNode, ...] = ()
    """The nodes in its files. A backend that finds its nodes itself has none here."""
    folders: tuple[Folder, ...] = ()
    storages: Mapping[str, str] = field(default_factory=dict)
    """Paths that begin with the name of a folder, by the names under which jobs know them as storages."""
    other_storages: str = ""
    """What stands before the name of any other storage in the place that is meant; empty if there are no others."""
    conda: str | None = None
    """Where conda is installed on the nodes: an absolute path, or a path that starts with the name of a folder."""
    lost_after_s: float = 60.0
    """The tasks of a node that has been unreachable for this long become Lost."""
    description: str = ""
    isolation: IsolationSettings = field(default_factory=IsolationSettings)
    reserved: Reserved = field(default_factory=Reserved)
    """What is kept on each node for the machine itself."""
    max_tasks: int | None = None
    """How many tasks run on each node at the same time; None means the default."""
    access: Access = field(default_factory=Access)
    """Who may use the cluster."""
    gpu_hour_price: float | None = None
    """What an hour of one GPU costs, in whatever currency the admin reckons; None if nobody reckons."""
    is_enabled: bool = True
    """Whether the cluster takes jobs. The server's own machine is switched off in its file; others have none then."""
    devices: DeviceFiles = field(default_factory=dict)
    """The devices other than GPUs that each node has, unless the node says otherwise."""
    setup_cache: SetupCache = field(default_factory=SetupCache)
    """How much is kept of what setups have prepared."""
    scripts: NodeScripts = field(default_factory=NodeScripts)
    """The programs of the admin that its agents run."""
    options: object = None
    """The settings that only its backend knows: a frozen dataclass of the backend, or None."""
    is_leaving: bool = False
    """No file describes the cluster any more. It gets no new tasks and is removed when nothing runs there."""
    file: str = field(default="", compare=False)
    line: int | None = field(default=None, compare=False)

    @property
    def tasks_per_node(self) -> int:
        return self.max_tasks or TASKS_PER_NODE

    def folder(self, name: str) -> Folder | None:
        return next((folder for folder in self.folders if folder.name == name), None)

    def path_of(self, path: str) -> str | None:
        """The absolute path behind a path that starts with the name of a folder; None if there is no such folder."""
        name, _, rest = path.partition("/")
        folder = self.folder(name)
        if folder is None:
            return None
        return f"{folder.path.rstrip('/')}/{rest}".rstrip("/") if rest else folder.path

    def storage_source(self, name: str) -> str | None:
        """What a job would mount that names this storage. A folder of that name serves, too."""
        if name in self.storages:
            return self.storages[name]
        if self.folder(name) is not None:
            return name
        return f"{self.other_storages}{name}" if self.other_storages else None

    @property
    def conda_root(self) -> str | None:
        """The absolute path of the conda installation."""
        if self.conda is None or self.conda.startswith("/"):
            return self.conda
        return self.path_of(self.conda)
