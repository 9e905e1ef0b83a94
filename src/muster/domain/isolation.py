"""How tasks of different people are kept apart on the nodes of a cluster, as its file says it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

FIRST_UID, LAST_UID = 70_000, 99_999
"""The numbers for users without an account: above those of accounts, below those that containers are given."""


class IsolationMode(StrEnum):
    USER = "user"
    """A task runs under the Unix account of its owner. The agent must be root."""
    NAMESPACE = "namespace"
    """A task sees only the system, its own files and the cluster's folders."""
    CONTAINER = "container"
    """A task runs in a container."""
    NONE = "none"
    """All tasks run under the account of the agent."""


@dataclass(frozen=True, slots=True)
class IsolationSettings:
    mode: IsolationMode | None = None
    """If absent, each node gives the best it can: `user` if its agent is root, else `namespace`, else `none`."""
    accounts: Mapping[str, str] = field(default_factory=dict)
    """The Unix accounts of Muster users whose account has another name."""
    first_uid: int = FIRST_UID
    last_uid: int = LAST_UID
    trust_users: bool = False
    """Whether users who are not admins may run jobs where tasks are not isolated."""
    image: str | None = None
    """The image for jobs without one, where tasks run in containers."""
