"""The wire format: a 4-byte big-endian length, then that many bytes of one UTF-8 JSON object.

A message whose `data` is bytes carries them as they are: the highest bit of the length is set, the object has a length
of its own before it, and the bytes follow. Shared by both ends of the pipe. It does no IO: bytes in, messages out.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Dict, List, Mapping, Optional

MAX_FRAME_BYTES = 16 * 1024 * 1024

Message = Dict[str, Any]

_LENGTH = struct.Struct(">I")
_WITH_DATA = 1 << 31


class FrameError(Exception):
    """The stream is not what it should be; nothing after this point can be trusted."""


class FrameTooLarge(Exception):
    """A message of ours does not fit in a frame; the stream itself is sound."""


def encode(message: Mapping[str, Any]) -> bytes:
    data = message.get("data")
    if not isinstance(data, bytes):
        body = _written(message)
        return _LENGTH.pack(_checked(len(body))) + body
    head = _written({key: value for key, value in message.items() if key != "data"})
    length = _checked(_LENGTH.size + len(head) + len(data))
    return b"".join((_LENGTH.pack(length | _WITH_DATA), _LENGTH.pack(len(head)), head, data))


class FrameDecoder:
    """Turns arbitrary pieces of the stream into whole messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> List[Message]:
        self._buffer += data
        messages: List[Message] = []
        position = 0
        while len(self._buffer) - position >= _LENGTH.size:
            (announced,) = _LENGTH.unpack_from(self._buffer, position)
            length = announced & ~_WITH_DATA
            if length > MAX_FRAME_BYTES:
                raise FrameError("a frame announces {} bytes; at most {} fit".format(length, MAX_FRAME_BYTES))
            end = position + _LENGTH.size + length
            if len(self._buffer) < end:
                break
            with memoryview(self._buffer) as view:
                body = bytes(view[position + _LENGTH.size : end])
            messages.append(_with_data(body) if announced & _WITH_DATA else _parse(body))
            position = end
        del self._buffer[:position]
        return messages


def first_object(received: bytes, most: int) -> Optional[Message]:
    """The object of the first frame, without its data, as soon as it is there. Raises FrameError if it is longer than
    `most` bytes."""
    if len(received) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(received)
    begin = _LENGTH.size
    if length & _WITH_DATA:
        if len(received) < 2 * _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(received, begin)
        begin += _LENGTH.size
    if length > most:
        raise FrameError("a first frame announces {} bytes; at most {} fit".format(length, most))
    return _parse(received[begin : begin + length]) if len(received) >= begin + length else None


def after_first(received: bytes) -> bytes:
    """What follows the first frame, all of which has been received."""
    (length,) = _LENGTH.unpack_from(received)
    return received[_LENGTH.size + (length & ~_WITH_DATA) :]


def _written(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode("utf-8")


def _checked(length: int) -> int:
    if length > MAX_FRAME_BYTES:
        raise FrameTooLarge("a message of {} bytes exceeds {}".format(length, MAX_FRAME_BYTES))
    return length


def _with_data(body: bytes) -> Message:
    end = _LENGTH.size + (_LENGTH.unpack_from(body)[0] if len(body) >= _LENGTH.size else 0)
    if not _LENGTH.size < end <= len(body):
        raise FrameError("a frame with data does not contain the object that it announces")
    message = _parse(body[_LENGTH.size : end])
    message["data"] = body[end:]
    return message


def _parse(body: bytes) -> Message:
    try:
        message = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FrameError("a frame does not contain JSON: {}".format(error)) from error
    if not isinstance(message, dict):
        raise FrameError("a frame contains {}, not an object".format(type(message).__name__))
    return message
