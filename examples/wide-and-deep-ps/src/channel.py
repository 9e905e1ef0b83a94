"""Requests and answers over a TCP connection, each as a length followed by JSON text.

This module is independent of the model. JSON preserves floats exactly, so a worker gets exactly the values that the
parameter server has.
"""

import json
import socket
import struct
import time
from typing import Any

CONNECT_LIMIT_S = 30.0
ANSWER_LIMIT_S = 60.0
_LENGTH = struct.Struct("!I")


def connect(endpoint: str) -> socket.socket:
    """Connect to host:port with retries, because the tasks of a gang start together in no particular order."""
    host, port = endpoint.rsplit(":", 1)
    deadline = time.monotonic() + CONNECT_LIMIT_S
    while True:
        try:
            connection = socket.create_connection((host, int(port)), timeout=ANSWER_LIMIT_S)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection


def send(connection: socket.socket, message: Any) -> None:
    body = json.dumps(message).encode()
    connection.sendall(_LENGTH.pack(len(body)) + body)


def receive(connection: socket.socket) -> Any:
    """Return the next message. Raises EOFError if the other side has closed the connection between two messages."""
    (length,) = _LENGTH.unpack(_read(connection, _LENGTH.size))
    return json.loads(_read(connection, length))


def _read(connection: socket.socket, size: int) -> bytes:
    chunks = []
    while size:
        chunk = connection.recv(size)
        if not chunk:
            raise EOFError("the other side closed the connection")
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)
