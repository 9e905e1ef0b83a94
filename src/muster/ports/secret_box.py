"""The seam through which the engine encrypts and decrypts the values of secrets."""

from collections.abc import Sequence
from typing import Protocol

from muster.domain.secrets import Secret


class SecretBox(Protocol):
    """A sealed value is bound to its owner and name, and opens under no other."""

    def has_key(self) -> bool:
        """Whether there is a key to encrypt with. Every method raises Unavailable if the keys cannot be read."""
        ...

    def make_key(self) -> None: ...

    def replace_lost_key(self) -> None:
        """Make a key, although there are secrets and no key. Raises Unavailable if their key may not be lost, but on
        another server."""
        ...

    def unreadable(self, secrets: Sequence[Secret]) -> list[Secret]:
        """Those of the sealed secrets whose key is not known."""
        ...

    def seal(self, owner_id: str, name: str, value: bytes) -> str:
        """The encrypted value, as it is stored. There must be a key."""
        ...

    def open(self, owner_id: str, name: str, sealed: str) -> bytes:
        """Raises Unavailable if the key is not known, or the sealed value was changed."""
        ...
