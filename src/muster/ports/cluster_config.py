"""The interface to the configuration of clusters: what admins wrote, its last valid version, and what commands add.

The engine reads it at its start, and again whenever it changes. The engine does not know where and how it is stored.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from muster.domain.clusters import ClusterNode, PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.nodes import NodeSettings
from muster.domain.virtual_clusters import VirtualCluster


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Everything that admins configured for clusters, in the order in which they wrote it."""

    virtual: tuple[VirtualCluster, ...] = ()
    nodes: tuple[NodeSettings, ...] = ()
    physical: tuple[PhysicalCluster, ...] = ()


Refusal = Callable[[ClusterSettings], Sequence[Problem]]
"""Returns the problems of settings that can be read and should not be used."""


def no_refusal(settings: ClusterSettings) -> Sequence[Problem]:
    return ()


@dataclass(frozen=True, slots=True)
class LastGood:
    """The settings in force: what is written now where it is valid, and elsewhere the version before it."""

    settings: ClusterSettings
    problems: tuple[Problem, ...] = ()
    """Every mistake in what is written now, and what became of the part that has it."""


@dataclass(frozen=True, slots=True)
class ClusterFile:
    """A file that describes clusters, as an admin may see it: values of passwords are hidden in its text."""

    name: str
    text: str
    sha256: str
    """The digest of what is really in the file."""
    modified_at: float
    size_bytes: int
    is_in_force: bool
    """Whether this version is used. If it has a mistake, an earlier one is, or none."""
    is_masked: bool = False
    """Whether values are hidden in the text."""
    has_previous: bool = False
    problem: str = ""
    """Why it cannot be read, if so."""


@dataclass(frozen=True, slots=True)
class FileTrial:
    """What would come of another text of a file, or of its removal."""

    problems: tuple[Problem, ...]
    diff: str
    """The difference between the present text and the new one, as `diff -u` writes it."""
    settings: ClusterSettings | None
    """All settings that would result; None if something is wrong."""


class ClusterConfig(Protocol):
    def read(self, refusal: Refusal = no_refusal) -> LastGood:
        """Reads the configuration. The first time, what was in force before the server stopped counts as the last
        good settings. Never raises for mistakes of admins: `problems` has them."""

    def changes(self) -> AsyncIterator[None]:
        """Yields once when changes begin to be watched for, and then after every change. Never ends."""

    def add_node(self, cluster: str, request: Mapping[str, Any], password: str | None) -> ClusterNode:
        """Adds a node as the API describes it, and makes the cluster if there is none. Blocks. Raises Invalid, and
        nothing has changed then. It is in force after the next `read`."""

    def remove_node(self, cluster: str, name: str) -> None:
        """Removes a node that was added. Blocks. Raises Conflict for a node that an admin wrote, and says where, and
        NotFound if there is none."""

    def files(self) -> Sequence[ClusterFile]:
        """The files that describe clusters, in order of name. Blocks, as all that follow. Raises Unavailable if their
        folder cannot be read."""

    def file(self, name: str, *, previous: bool = False) -> ClusterFile:
        """One file, or the version before it. Raises NotFound."""

    def try_file(self, name: str, text: str | None) -> FileTrial:
        """What would come of this text in the file; None removes it. Nothing changes. Raises NotFound if a file that is
        not there should be removed, and Invalid for a name that no such file may have."""

    def write_file(self, name: str, text: str | None, base: str | None) -> ClusterFile | None:
        """Replaces the file, or removes it. The version that was there is kept as the previous one. `base` is the
        digest of the version that was edited, None for a new file. Raises Conflict if another version is there, and
        Invalid if the text has mistakes; nothing has changed then. It is in force after the next `read`."""
