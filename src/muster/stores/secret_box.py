"""Encrypts the values of secrets with AES-256-GCM.

A sealed value names the key that it was encrypted with, and is bound to its owner and name: a row that was copied to
another owner or name cannot be opened. The first key encrypts; the others only open what was encrypted before.
"""

import base64
import hashlib
from collections.abc import Sequence
from typing import Protocol

from muster.domain.errors import Unavailable
from muster.domain.secrets import Secret

_VERSION = "v1"


class KeyFile(Protocol):
    """The place where the keys are kept."""

    def read(self) -> Sequence[bytes]:
        """All keys, the newest first; none if no key has been made yet."""
        ...

    def add(self) -> None:
        """Make a key."""
        ...

    def replace_lost(self) -> None:
        """Make a key after all earlier ones were lost. Raises Unavailable if they may be elsewhere."""
        ...


class AesSecretBox:
    """Implements `ports.secret_box.SecretBox`. Keys are read for each value, so that a new key is used at once."""

    def __init__(self, file: KeyFile) -> None:
        self._file = file

    def has_key(self) -> bool:
        return bool(self._file.read())

    def make_key(self) -> None:
        self._file.add()

    def replace_lost_key(self) -> None:
        self._file.replace_lost()

    def unreadable(self, secrets: Sequence[Secret]) -> list[Secret]:
        known = {key_id(key) for key in self._file.read()}
        return [secret for secret in secrets if _key_of(secret.sealed) not in known]

    def seal(self, owner_id: str, name: str, value: bytes) -> str:
        key = self._file.read()[0]
        encrypted = _encrypt(key, value, _bound_to(owner_id, name))
        return f"{_VERSION}:{key_id(key)}:{base64.b64encode(encrypted).decode()}"

    def open(self, owner_id: str, name: str, sealed: str) -> bytes:
        version, _, rest = sealed.partition(":")
        wanted, _, text = rest.partition(":")
        key = next((key for key in self._file.read() if key_id(key) == wanted), None)
        if version != _VERSION or key is None:
            raise Unavailable(
                f"secret {name} was encrypted with key {wanted}, which this server does not have",
                hint="give all servers on the database the same file (secretsKeyFile in the settings); if the key"
                f" is lost, set the secret again: muster secret set {name}",
            )
        try:
            return _decrypt(key, base64.b64decode(text, validate=True), _bound_to(owner_id, name))
        except ValueError:
            raise Unavailable(
                f"secret {name} cannot be decrypted: its row was changed outside of Muster", hint="set it again"
            ) from None


def key_id(key: bytes) -> str:
    """Names a key without revealing it."""
    return hashlib.sha256(b"muster secrets key\0" + key).hexdigest()[:16]


def _key_of(sealed: str) -> str:
    return sealed.partition(":")[2].partition(":")[0]


def _encrypt(key: bytes, value: bytes, bound_to: bytes) -> bytes:
    from muster.stores.aes import encrypt

    return encrypt(key, value, bound_to)


def _decrypt(key: bytes, data: bytes, bound_to: bytes) -> bytes:
    from muster.stores.aes import decrypt

    return decrypt(key, data, bound_to)


def _bound_to(owner_id: str, name: str) -> bytes:
    return f"muster-secret:{owner_id}:{name}".encode()
