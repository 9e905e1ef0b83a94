"""Reads messages in the wire format of Protocol Buffers field by field, without knowing their schema."""

import struct
from collections.abc import Iterator

Field = tuple[int, int | bytes]
"""The number of a field, and its value: a whole number, or bytes. Numbers of fixed size are bytes."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


class BadMessage(ValueError):
    pass


def fields(data: bytes) -> Iterator[Field]:
    """Raises BadMessage when it comes to what is not such a message."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if kind == _BYTES:
            length, position = _varint(data, position)
        elif kind in (_FIXED32, _FIXED64):
            length = 4 if kind == _FIXED32 else 8
        else:
            raise BadMessage(f"a field of kind {kind}")
        if position + length > len(data):
            raise BadMessage("a field that is cut off")
        yield number, data[position : position + length]
        position += length


def signed(value: int | bytes) -> int:
    """A whole number that may be negative."""
    if isinstance(value, bytes):
        raise BadMessage("bytes where a number should be")
    return value - (1 << 64) if value >= 1 << 63 else value


def floating(value: int | bytes) -> float:
    if not isinstance(value, bytes) or len(value) not in (4, 8):
        raise BadMessage("no floating-point number")
    found: float = struct.unpack("<f" if len(value) == 4 else "<d", value)[0]
    return found


def text(value: int | bytes) -> str:
    if not isinstance(value, bytes):
        raise BadMessage("a number where a text should be")
    return value.decode("utf-8", "replace")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for place in range(_LONGEST_VARINT):
        if position + place >= len(data):
            raise BadMessage("a number that is cut off")
        byte = data[position + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & ((1 << 64) - 1), position + place + 1
    raise BadMessage("a number that does not end")
