"""A physical cluster as an admin describes it: which machines, how they are reached, what they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

RESERVED = "muster/"
"""Labels that begin like this say what a node was found to have. Nobody but the backend writes them."""
CONDA = f"{RESERVED}conda"
CONTAINERS = f"{RESERVED}containers"
"""Its value is the container engine that is used there: podman, docker or apptainer."""
CONTAINER_GPUS = f"{RESERVED}container-gpus"
"""Containers there can be given cards."""


def folder_label(name: str) -> str:
    """The label of nodes where the folder is what it should be."""
    return f"{RESERVED}folder.{name}"


class HostKeys(StrEnum):
    """How a host proves that it is itself, where its key is not written in the cluster file."""

    KNOWN = "known"
    """By the known_hosts of the account that runs the server, and of the machine."""
    FIRST_USE = "first-use"
    """The key it shows first is kept, and no other is taken afterwards."""


@dataclass(frozen=True, slots=True)
class Login:
    """How to get into a machine. What is absent comes from `~/.ssh/config`, then from SSH's own defaults."""

    host: str
    port: int | None = None
    user: str | None = None
    key_file: str | None = None
    password_file: str | None = None
    """A file only its owner may read, whose first line is the password. The password itself is never kept here."""
    jump: str | None = None
    """`[user@]host[:port]`, several with commas, passed through in this order."""
    host_keys: HostKeys = HostKeys.KNOWN
    host_key: str | None = None
    """The key itself, as `ssh-keyscan` prints it without the host: `ssh-ed25519 AAAA…`."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a file says a node has. The agent finds out; a difference is an alert."""

    gpus: int | None = None
    gpu_models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """A node as its cluster's file gives it."""

    name: str
    login: Login
    address: str | None = None
    """On the job network; what the interface says, or what the node would use towards others, if absent."""
    interface: str | None = None
    python: str = "python3"
    root: str = ".muster-node"
    """Where the node keeps tasks; of a relative one, in the home of the account."""
    labels: Mapping[str, str] = field(default_factory=dict)
    claims: Claims = field(default_factory=Claims)
    file: str = field(default="", compare=False)
    """Where it stands. A node that only moved is the same."""
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that people and jobs may use by its name."""

    name: str
    path: str
    """On the nodes, absolute."""
    shared: bool = True
    """Every node sees the same files there; if not, each has its own."""
    read_only: bool = False
    users: tuple[str, ...] = ()
    """With groups empty too: everybody."""
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
    """Where conda is installed on the nodes: an absolute path, or one that begins with a folder's name."""
    unreachable_after_s: float = 10.0
    """Of silence."""
    lost_after_s: float = 60.0
    """Tasks of a node that has been unreachable this long are taken for lost."""
    description: str = ""
    file: str = field(default="", compare=False)
    line: int | None = field(default=None, compare=False)

    def folder(self, name: str) -> Folder | None:
        return next((folder for folder in self.folders if folder.name == name), None)

    def path_of(self, path: str) -> str | None:
        """Where on the nodes a path lies that begins with a folder's name; None if there is no such folder."""
        name, _, rest = path.partition("/")
        folder = self.folder(name)
        if folder is None:
            return None
        return f"{folder.path.rstrip('/')}/{rest}".rstrip("/") if rest else folder.path

    @property
    def conda_root(self) -> str | None:
        """Absolute."""
        if self.conda is None or self.conda.startswith("/"):
            return self.conda
        return self.path_of(self.conda)
