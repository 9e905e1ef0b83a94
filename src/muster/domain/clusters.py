"""A physical cluster as an admin describes it: what clusters of every backend have.

What only one backend knows, such as how its machines are reached, is in `options` and in the nodes, and stays opaque
everywhere else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

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

    def is_open_to(self, user: str, groups: Sequence[str]) -> bool:
        is_open = not self.users and not self.groups
        return is_open or user in self.users or not set(self.groups).isdisjoint(groups)


class ClusterNode(Protocol):
    """A node that the files of its cluster list. The backend's own class has more. Nodes that differ only in the place
    where they are listed are equal."""

    @property
    def name(self) -> str: ...

    @property
    def host(self) -> str:
        """The machine as the server addresses it."""

    @property
    def shown_login(self) -> str:
        """How the server gets in, in words for admins, without what it needs for it."""

    @property
    def audit_facts(self) -> Mapping[str, Any]:
        """What the audit log keeps when the node is added by command."""

    @property
    def file(self) -> str: ...

    @property
    def line(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class PhysicalCluster:
    name: str
    backend: str
    nodes: tuple[ClusterNode, ...] = ()
    """Those that its files list. A backend that finds its nodes itself has none here."""
    folders: tuple[Folder, ...] = ()
    conda: str | None = None
    """Where conda is installed on the nodes: an absolute path, or a path that starts with the name of a folder."""
    lost_after_s: float = 60.0
    """The tasks of a node that has been unreachable for this long become Lost."""
    description: str = ""
    options: object = None
    """What only its backend understands: a frozen dataclass of the backend, or nothing."""
    is_leaving: bool = False
    """No file describes the cluster any more: it takes no new task, and goes when nothing of it is left."""
    file: str = field(default="", compare=False)
    line: int | None = field(default=None, compare=False)

    def folder(self, name: str) -> Folder | None:
        return next((folder for folder in self.folders if folder.name == name), None)

    def path_of(self, path: str) -> str | None:
        """The absolute path behind a path that starts with the name of a folder; None if there is no such folder."""
        name, _, rest = path.partition("/")
        folder = self.folder(name)
        if folder is None:
            return None
        return f"{folder.path.rstrip('/')}/{rest}".rstrip("/") if rest else folder.path

    @property
    def conda_root(self) -> str | None:
        """The absolute path of the conda installation."""
        if self.conda is None or self.conda.startswith("/"):
            return self.conda
        return self.path_of(self.conda)
