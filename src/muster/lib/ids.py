"""Identifiers: short, sortable by time, safe in file names, host names and shells."""

import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: nothing that is misread


def new_id() -> str:
    """Sixteen characters: nine of milliseconds, so that ids sort by age, and seven of chance (35 bits)."""
    return _encode(time.time_ns() // 1_000_000, 9) + _encode(secrets.randbits(35), 7)


def new_secret() -> str:
    """256 bits, for tokens; never stored as it is."""
    return secrets.token_urlsafe(32)


def _encode(number: int, width: int) -> str:
    letters = []
    for _ in range(width):
        number, digit = divmod(number, 32)
        letters.append(_ALPHABET[digit])
    return "".join(reversed(letters))
