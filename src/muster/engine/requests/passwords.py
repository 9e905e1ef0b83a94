"""Passwords: hashed with argon2 in threads of their own, because one hash takes 64 MiB and tens of milliseconds."""

from collections.abc import Callable
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from muster.domain.errors import Unavailable
from muster.lib.work_pool import PoolFull, WorkPool

T = TypeVar("T")
_THREADS = 2
_WAITING = 16


class Passwords:
    def __init__(self, pool: WorkPool | None = None, hasher: PasswordHasher | None = None) -> None:
        self._pool = pool or WorkPool("passwords", threads=_THREADS, waiting=_WAITING)
        self._hasher = hasher or PasswordHasher()

    async def hash(self, password: str | None) -> str | None:
        return None if password is None else await self._run(self._hasher.hash, password)

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Check a password. This takes as long for a user that does not exist, so that the time reveals no names."""
        if password_hash is None:
            await self._run(self._hasher.hash, password)
            return False
        try:
            return await self._run(self._hasher.verify, password_hash, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _run(self, work: Callable[..., T], *arguments: str) -> T:
        try:
            return await self._pool.run(work, *arguments)
        except PoolFull:
            raise Unavailable(
                "too many people are logging in right now", hint="try again in a moment", retry_after_s=2.0
            ) from None
