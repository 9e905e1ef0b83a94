"""Packages and inputs as backends access them."""

from pathlib import Path
from typing import Protocol


class Archives(Protocol):
    """The archives that this server keeps, each named by the digest of its bytes."""

    def path(self, digest: str) -> Path:
        """The archive's path on the server's own disk."""
        ...

    def url(self, digest: str, lifetime_s: float) -> str:
        """A URL at which this one archive, and nothing else, can be fetched without a token until it expires. It is
        meant for engines whose nodes fetch archives by themselves."""
        ...
