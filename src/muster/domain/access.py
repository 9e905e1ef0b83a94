"""Who may use something that admins share: a physical cluster, a virtual cluster or a folder."""

from dataclasses import dataclass
from typing import Protocol

from muster.domain.accounts import User


class Shared(Protocol):
    """What is shared with users and groups. If neither is named, everybody may use it."""

    @property
    def users(self) -> tuple[str, ...]: ...

    @property
    def groups(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Access:
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


def is_open(shared: Shared) -> bool:
    """Whether everybody may use it."""
    return not shared.users and not shared.groups


def may_use(shared: Shared, user: User) -> bool:
    """Whether the user may use it. Admins may use everything, as they could give themselves access."""
    named = user.name in shared.users or not set(shared.groups).isdisjoint(user.groups)
    return is_open(shared) or user.is_admin or named
