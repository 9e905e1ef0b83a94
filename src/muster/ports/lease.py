"""The lease: which of several servers on one database may act."""

from dataclasses import dataclass, field
from typing import Protocol

NO_EPOCH = -1
"""The epoch of a server that does not hold the lease: no write and no order is accepted with it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a server that wants the lease says about itself."""

    holder: str
    """Identifies the process; no two processes have the same."""
    address: str
    """The address at which other servers reach this one, with the fingerprint of its certificate after `#`."""
    identity: str
    """The identity of the installation, by which its nodes know it. The first server decides it for all."""
    home: str
    has_home_lock: bool
    """Whether it has the lock of its home folder, which no other living process can then have."""
    key: str = field(default="", repr=False)
    """A secret by which the other servers prove that a request was passed on by them."""


@dataclass(frozen=True, slots=True)
class Term:
    """The lease as it is stored. `is_held` is False if it expired or was given back, by the database's clock."""

    epoch: int
    holder: str
    address: str
    identity: str
    home: str
    is_held: bool
    key: str = field(default="", repr=False)


class Lease(Protocol):
    """Raises Unavailable if the database does not answer."""

    async def current(self) -> Term: ...

    async def acquire(self, claim: Claim) -> Term | None:
        """Begin a new epoch. Returns None if another server holds the lease."""
        ...

    async def renew(self, epoch: int, address: str) -> bool:
        """`address` replaces the one that was claimed, because the certificate may have been renewed. Returns False
        if another server has begun a newer epoch. An expired lease that nobody took is renewed."""
        ...

    async def release(self, epoch: int) -> None:
        """Give the lease back, so that another server need not wait for its end."""
        ...

    async def close(self) -> None: ...
