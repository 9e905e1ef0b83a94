"""Ring all-reduce over TCP: every rank communicates only with its two neighbours.

Each rank sums 1/n of the vector and passes the finished part on, so all ranks have bitwise identical results. This
module is independent of the training.
"""

import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

NEIGHBOUR_LIMIT_S = 30.0


class Ring:
    """One rank of the ring. Every rank must call the same operations in the same order."""

    def __init__(self, endpoints: list[str], own: str) -> None:
        self.size = len(endpoints)
        self.rank = endpoints.index(own)
        with _listen(own) as listener:
            self._next = _connect(endpoints[(self.rank + 1) % self.size])
            self._previous, _ = listener.accept()
        self._previous.settimeout(NEIGHBOUR_LIMIT_S)
        self._sender = ThreadPoolExecutor(max_workers=1)

    def all_reduce(self, vector: list[float]) -> list[float]:
        """Return the sum of the vectors of all ranks, which is the same on every rank."""
        bounds = [len(vector) * part // self.size for part in range(self.size + 1)]
        parts = [vector[start:end] for start, end in pairwise(bounds)]
        for step in range(self.size - 1):
            summed = (self.rank - step - 1) % self.size
            received = self._shift(parts[(self.rank - step) % self.size], len(parts[summed]))
            parts[summed] = [mine + theirs for mine, theirs in zip(parts[summed], received, strict=True)]
        for step in range(self.size - 1):
            finished = (self.rank - step) % self.size
            parts[finished] = self._shift(parts[(finished + 1) % self.size], len(parts[finished]))
        return [value for part in parts for value in part]

    def all_gather(self, vector: list[float]) -> list[list[float]]:
        """Return the vectors of all ranks, starting with the previous rank and ending with this rank's own."""
        gathered = []
        for _ in range(self.size):
            vector = self._shift(vector, len(vector))
            gathered.append(vector)
        return gathered

    def close(self) -> None:
        self._sender.shutdown()
        self._next.close()
        self._previous.close()

    def _shift(self, outgoing: list[float], incoming: int) -> list[float]:
        """Send to the next rank while receiving from the previous one.

        Sending uses a separate thread: if all ranks sent first, a vector that is larger than the socket buffers would
        cause a deadlock.
        """
        sent = self._sender.submit(self._next.sendall, struct.pack(f"!{len(outgoing)}d", *outgoing))
        received = _read(self._previous, 8 * incoming)
        sent.result()
        return list(struct.unpack(f"!{incoming}d", received))


def _listen(endpoint: str) -> socket.socket:
    listener = socket.create_server(_address(endpoint))
    listener.settimeout(NEIGHBOUR_LIMIT_S)
    return listener


def _connect(endpoint: str) -> socket.socket:
    """Connect with retries, because the tasks of a gang start together in no particular order."""
    deadline = time.monotonic() + NEIGHBOUR_LIMIT_S
    while True:
        try:
            connection = socket.create_connection(_address(endpoint), timeout=NEIGHBOUR_LIMIT_S)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection


def _address(endpoint: str) -> tuple[str, int]:
    host, port = endpoint.rsplit(":", 1)
    return host, int(port)


def _read(connection: socket.socket, size: int) -> bytes:
    chunks = []
    while size:
        chunk = connection.recv(size)
        if not chunk:
            raise EOFError("the previous rank left the ring")
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)
