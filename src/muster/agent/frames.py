"""The wire format: a 4-byte big-endian length, then that many bytes of one UTF-8 JSON object.

Shared by both ends of the pipe. It does no IO: bytes in, messages out.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Dict, List, Mapping

MAX_FRAME_BYTES = 16 * 1024 * 1024

Message = Dict[str, Any]

_LENGTH = struct.Struct(">I")


class FrameError(Exception):
    """The stream is not what it should be; nothing after this point can be trusted."""


class FrameTooLarge(Exception):
    """A message of ours does not fit in a frame; the stream itself is sound."""


def encode(message: Mapping[str, Any]) -> bytes:
    body = json.dumps(message, separators=(",", ":")).encode("utf-8")
    if len(body) > MAX_FRAME_BYTES:
        raise FrameTooLarge("a message of {} bytes exceeds {}".format(len(body), MAX_FRAME_BYTES))
    return _LENGTH.pack(len(body)) + body


class FrameDecoder:
    """Turns arbitrary pieces of the stream into whole messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> List[Message]:
        self._buffer += data
        messages: List[Message] = []
        position = 0
        while len(self._buffer) - position >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, position)
            if length > MAX_FRAME_BYTES:
                raise FrameError("a frame announces {} bytes; at most {} fit".format(length, MAX_FRAME_BYTES))
            end = position + _LENGTH.size + length
            if len(self._buffer) < end:
                break
            messages.append(_parse(bytes(self._buffer[position + _LENGTH.size : end])))
            position = end
        del self._buffer[:position]
        return messages


def _parse(body: bytes) -> Message:
    try:
        message = json.loads(body.decode("utf-8"))
    except ValueError as error:
        raise FrameError("a frame does not hold JSON: {}".format(error)) from error
    if not isinstance(message, dict):
        raise FrameError("a frame holds {}, not an object".format(type(message).__name__))
    return message
