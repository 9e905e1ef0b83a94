"""The two descriptors towards the server: requests in, answers and pushes out. Nothing else is ever written there.

Frames of one loop turn leave in one write. A server that does not read is not asked for more: past a mark, no
further request is taken until it has caught up.
"""

from __future__ import annotations

import os
from typing import Any, Callable, List, Mapping, NamedTuple, Protocol

from muster.agent.system.frames import FrameDecoder, FrameError, Message, encode
from muster.agent.system.lines import LineDecoder, encode_line
from muster.agent.system.loop import Loop

_READ_BYTES = 256 * 1024
_PAUSE_AT_BYTES = 32 * 1024 * 1024


class Decoder(Protocol):
    def feed(self, data: bytes) -> List[Message]: ...


class Form(NamedTuple):
    """How messages are written."""

    encode: Callable[[Mapping[str, Any]], bytes]
    decoder: Callable[[], Decoder]


FRAMES = Form(encode, FrameDecoder)
LINES = Form(encode_line, LineDecoder)


class Channel:
    def __init__(
        self,
        loop: Loop,
        in_fd: int,
        out_fd: int,
        on_message: Callable[[Message], None],
        on_close: Callable[[str], None],
        form: Form = FRAMES,
    ) -> None:
        self._loop = loop
        self._in_fd = in_fd
        self._out_fd = out_fd
        self._on_message = on_message
        self._on_close = on_close
        self._encode = form.encode
        self._decoder = form.decoder()
        self._outgoing = bytearray()
        self._writing = False
        self._reading = True
        self._closed = False
        os.set_blocking(in_fd, False)
        os.set_blocking(out_fd, False)
        loop.add_reader(in_fd, self._read)
        loop.at_turn_end(self._flush)

    @property
    def congested(self) -> bool:
        """True if the server reads so slowly that messages which may be left out should be."""
        return len(self._outgoing) > _READ_BYTES

    @property
    def has_sent_all(self) -> bool:
        return not self._outgoing

    def send(self, message: Mapping[str, Any]) -> None:
        self._outgoing += self._encode(message)

    def drain(self) -> None:
        """Take all that has come in, once nobody writes any more."""
        while not self._closed and self._reading:
            self._read()

    def close(self) -> None:
        """Neither read nor write any more; the descriptors stay with whoever opened them. Harmless when repeated."""
        if self._closed:
            return
        self._closed = True
        if self._reading:
            self._loop.remove(self._in_fd)
        if self._writing:
            self._loop.remove(self._out_fd)
        self._outgoing.clear()
        self._loop.not_at_turn_end(self._flush)

    def _read(self) -> None:
        try:
            data = os.read(self._in_fd, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._on_close("cannot read requests: {}".format(error))
            return
        if not data:
            self._on_close("")
            return
        try:
            messages = self._decoder.feed(data)
        except FrameError as error:
            self._on_close(str(error))
            return
        for message in messages:
            self._on_message(message)

    def _flush(self) -> None:
        if self._closed:
            return
        if self._outgoing and not self._writing:
            self._write()
        if not self._closed:
            self._pause_or_resume()

    def _write(self) -> None:
        try:
            sent = os.write(self._out_fd, self._outgoing)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._on_close("cannot answer: {}".format(error))
            return
        del self._outgoing[:sent]
        wants_more = bool(self._outgoing)
        if wants_more and not self._writing:
            self._loop.add_writer(self._out_fd, self._write)
        elif self._writing and not wants_more:
            self._loop.remove(self._out_fd)
        self._writing = wants_more

    def _pause_or_resume(self) -> None:
        wants_requests = len(self._outgoing) < _PAUSE_AT_BYTES
        if wants_requests and not self._reading:
            self._loop.add_reader(self._in_fd, self._read)
        elif self._reading and not wants_requests:
            self._loop.remove(self._in_fd)
        self._reading = wants_requests
