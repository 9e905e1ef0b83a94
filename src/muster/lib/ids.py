"""Identifiers that are short, sort by time, and are safe in file names, host names and shells."""

import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # without i, l, o and u, which are easily misread


def new_id() -> str:
    """Sixteen characters: nine encode milliseconds, so that ids sort by age, and seven are random (35 bits)."""
    return _encode(time.time_ns() // 1_000_000, 9) + _encode(secrets.randbits(35), 7)


def new_secret() -> str:
    """A random secret of 256 bits for a token. Only its hash may be stored."""
    return secrets.token_urlsafe(32)


def _encode(number: int, width: int) -> str:
    letters = []
    for _ in range(width):
        number, digit = divmod(number, 32)
        letters.append(_ALPHABET[digit])
    return "".join(reversed(letters))
