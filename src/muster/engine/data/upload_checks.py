"""Checks the digests and the pieces of files and packages that clients upload."""

import re

from muster.domain.errors import Invalid

_SHA256 = re.compile(r"[0-9a-f]{64}")


def check_sha256(text: str, message: str) -> None:
    if not _SHA256.fullmatch(text):
        raise Invalid(f"{message}: 64 hexadecimal digits")


def check_piece(offset: int, data: bytes, size: int, what: str) -> None:
    if offset + len(data) > size:
        raise Invalid(f"this piece ends at {offset + len(data)}, behind the end of {what} of {size} bytes")
