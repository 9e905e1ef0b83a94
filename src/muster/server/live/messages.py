"""Server-sent events as bytes. A message is made once and sent to many, so it does not end yet: the last message of a
batch carries the number up to which everything has been told."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encoded(data: Any) -> bytes:
    """JSON on one line."""
    return _encoder.encode(data).encode()


def message(event: str, data: Any) -> bytes:
    return framed(event, encoded(data))


def framed(event: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n" % (event.encode(), data)


def array(items: Iterable[bytes]) -> bytes:
    return b"[%s]" % b",".join(items)


def batch(messages: Sequence[bytes], seq: int | None) -> bytes:
    """The messages as one piece. `seq` is None if a reader that comes back must be told some of it again."""
    number = b"" if seq is None else b"id: %d\n" % seq
    return b"%s%s\n" % (b"\n".join(messages), number)


def still_here(seq: int | None) -> bytes:
    return batch([b": still here\n"], seq)


RESYNC = message("resync", {})
