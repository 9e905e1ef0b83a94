"""Names such as Kubernetes gives to pods: a prefix and five characters at the end."""

import hashlib

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of suffixes, without vowels, so that none is a word."""
_SUFFIX_LENGTH = 5


def pod_name(prefix: str, key: str) -> str:
    """The same key always gets the same name."""
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
    suffix = ""
    for _ in range(_SUFFIX_LENGTH):
        number, place = divmod(number, len(_LETTERS))
        suffix += _LETTERS[place]
    return f"{prefix}-{suffix}"
