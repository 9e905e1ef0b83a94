"""The seam through which the engine encrypts and decrypts the values of secrets."""

from typing import Protocol


class SecretBox(Protocol):
    """A sealed value is bound to its owner and name, and opens under no other."""

    def has_key(self) -> bool:
        """Whether there is a key to encrypt with. Every method raises Unavailable if the keys cannot be read."""
        ...

    def make_key(self) -> None: ...

    def seal(self, owner_id: str, name: str, value: bytes) -> str:
        """The encrypted value, as it is stored. There must be a key."""
        ...

    def open(self, owner_id: str, name: str, sealed: str) -> bytes:
        """Raises Unavailable if the key is not known, or the sealed value was changed."""
        ...
