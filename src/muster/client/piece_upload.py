"""The one way to send a file to the server: in pieces, from where an earlier try stopped, with patience for a server
that is away for a moment. The server checks the digest of the whole with the last piece.
"""

from collections.abc import Callable
from typing import IO

from muster.client.errors import MusterError
from muster.client.retry_window import Patience
from muster.client.transport import Query, Request, Transport

CHUNK_BYTES = 4 << 20
Moved = Callable[[int], None]
"""Called with the number of bytes that were moved since the last call; 0 while something is being checked."""
PutPiece = Callable[[int, bytes], tuple[int, bool]]
"""Sends the bytes at an offset. The answer says how many bytes the server has, and whether the file is complete."""


def send(
    file: IO[bytes], size: int, offset: int, put: PutPiece, tell: Moved, shown: str, chunk_bytes: int = CHUNK_BYTES
) -> None:
    """Send what the server does not have yet, and return when it has all of it. `shown` is the name in messages."""
    complete = False
    patience = Patience()
    while not complete:
        file.seek(offset)
        data = file.read(chunk_bytes)
        if offset + len(data) > size or (not data and offset < size):
            raise MusterError(
                f"{shown} changed while it was sent",
                code="changed",
                status=409,
                hint="send it again when nobody writes to it",
            )
        try:
            received, complete = put(offset, data)
        except MusterError as error:
            patience.wait(error)
            continue
        patience.restore()
        tell((size if complete else received) - offset)
        offset = received


def put_piece(
    transport: Transport, path: str, query: Query, offset: int, data: bytes, answer_s: float
) -> tuple[int, bool]:
    """One PUT. If the server has other bytes than was thought, the answer is where to go on: a piece whose answer was
    lost had arrived, or another client sends the same file."""
    headers = {"Content-Type": "application/octet-stream"}
    request = Request("PUT", path, {**query, "offset": offset}, data, headers, answer_s=answer_s)
    try:
        answer = transport.json(request)
    except MusterError as error:
        received = error.raw.get("received")
        if error.status == 409 and isinstance(received, int) and received != offset:
            return received, False
        raise
    return int(answer["received"]), bool(answer["complete"])
