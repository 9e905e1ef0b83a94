"""Packages and inputs as backends get at them."""

from pathlib import Path
from typing import Protocol


class Archives(Protocol):
    """The archives that this server keeps, each named by the digest of its bytes."""

    def path(self, digest: str) -> Path:
        """Where it lies on the server's own disk."""
        ...

    def url(self, digest: str, lifetime_s: float) -> str:
        """An address at which this one archive, and nothing else, can be fetched without a token until then. For
        engines whose nodes fetch by themselves."""
        ...
