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
