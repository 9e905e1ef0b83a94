"""Messages as lines of text, for a way that buffers lines and may add some of its own: each is a frame in Base64.

`srun` keeps output back until a line is whole, and the prologs of a site may print between ours.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, List, Mapping

from muster.agent.system.frames import MAX_FRAME_BYTES, FrameDecoder, FrameError, Message, encode

_BEGIN = b"muster:"
_MOST_BYTES = MAX_FRAME_BYTES // 3 * 4 + 1024


def encode_line(message: Mapping[str, Any]) -> bytes:
    return _BEGIN + base64.b64encode(encode(message)) + b"\n"


class LineDecoder:
    """Turns arbitrary pieces of the stream into whole messages. Other lines are left out."""

    def __init__(self) -> None:
        self._pieces: List[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> List[Message]:
        messages: List[Message] = []
        *ended, rest = data.split(b"\n")
        for end in ended:
            messages += _read(b"".join((*self._pieces, end)))
            self._pieces, self._held = [], 0
        self._pieces.append(rest)
        self._held += len(rest)
        if self._held > _MOST_BYTES:
            raise FrameError("a line has more than {} bytes".format(_MOST_BYTES))
        return messages


def _read(line: bytes) -> List[Message]:
    if not line.startswith(_BEGIN):
        return []
    try:
        return FrameDecoder().feed(base64.b64decode(line[len(_BEGIN) :], validate=True))
    except binascii.Error as error:
        raise FrameError("a line is not Base64: {}".format(error)) from None
