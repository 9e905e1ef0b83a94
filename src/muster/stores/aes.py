"""AES-256-GCM. It is loaded with the first secret, because most servers start without one."""

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES = 12


def encrypt(key: bytes, value: bytes, bound_to: bytes) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, value, bound_to)


def decrypt(key: bytes, data: bytes, bound_to: bytes) -> bytes:
    """Raises ValueError if the data was not encrypted with this key for this purpose."""
    try:
        return AESGCM(key).decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], bound_to)
    except InvalidTag:
        raise ValueError("the data was changed") from None
