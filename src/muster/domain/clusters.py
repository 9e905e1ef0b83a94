"""A physical cluster as an admin describes it: its machines, how to reach them, and the folders they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

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


class HostKeys(StrEnum):
    """How the identity of a host is verified if the cluster file does not contain its key."""

    KNOWN = "known"
    """The key must be in the known_hosts of the account that runs the server, or of the machine."""
    FIRST_USE = "first-use"
    """The first key that the host presents is stored, and any other key is refused afterwards."""


@dataclass(frozen=True, slots=True)
class Login:
    """How to log in to a machine. `~/.ssh/config`, then SSH's own defaults, provide what is absent here."""

    host: str
    port: int | None = None
    user: str | None = None
    key_file: str | None = None
    password_file: str | None = None
    """A file that only its owner can read. Its first line is the password, which is never stored here itself."""
    jump: str | None = None
    """One or more jump hosts, written `[user@]host[:port]`, separated by commas, in the order of the hops."""
    host_keys: HostKeys = HostKeys.KNOWN
    host_key: str | None = None
    """The key itself, as `ssh-keyscan` prints it without the host: `ssh-ed25519 AAAA…`."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What the cluster file says a node has. The agent checks it, and a difference raises an alert."""

    gpus: int | None = None
    gpu_models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """A node as the cluster file describes it."""

    name: str
    login: Login
    address: str | None = None
    """The node's address on the job network. If absent, it is the address of `interface`, or else the one that the
    node's routes would use."""
    interface: str | None = None
    python: str = "python3"
    root: str = ".muster-node"
    """Where the node keeps its tasks. A relative path starts at the home folder of the account."""
    labels: Mapping[str, str] = field(default_factory=dict)
    claims: Claims = field(default_factory=Claims)
    file: str = field(default="", compare=False)
    """Where the node is written. A node that only moved to another file or line is still the same node."""
    line: int | None = field(default=None, compare=False)


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


@dataclass(frozen=True, slots=True)
class PhysicalCluster:
    name: str
    backend: str
    members: tuple[Member, ...] = ()
    folders: tuple[Folder, ...] = ()
    conda: str | None = None
    """Where conda is installed on the nodes: an absolute path, or a path that starts with the name of a folder."""
    unreachable_after_s: float = 10.0
    """A node becomes unreachable after this many seconds without a heartbeat."""
    lost_after_s: float = 60.0
    """The tasks of a node that has been unreachable for this long become Lost."""
    description: str = ""
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
