"""The worker's view of all parameters, whichever server has them."""

import zlib
from collections.abc import Mapping
from typing import Any

import channel

Vectors = dict[str, list[float]]


class Parameters:
    """The shards of all parameter servers as one set of named vectors."""

    def __init__(self, endpoints: list[str]) -> None:
        self._connections = [channel.connect(endpoint) for endpoint in endpoints]

    def pull(self, sizes: Mapping[str, int]) -> Vectors:
        requests = [{"op": "pull", "sizes": part} for part in self._split(sizes)]
        merged: Vectors = {}
        for answer in self._ask_all(requests):
            merged.update(answer)
        return merged

    def push(self, gradients: Vectors, rate: float) -> None:
        self._ask_all([{"op": "push", "gradients": part, "rate": rate} for part in self._split(gradients)])

    def wait_for_all_workers(self) -> None:
        channel.send(self._connections[0], {"op": "barrier"})
        channel.receive(self._connections[0])

    def _ask_all(self, requests: list[dict[str, Any]]) -> list[Any]:
        """Send to every server before reading any answer, so that the servers work in parallel."""
        for connection, request in zip(self._connections, requests, strict=True):
            channel.send(connection, request)
        return [channel.receive(connection) for connection in self._connections]

    def _split(self, named: Mapping[str, Any]) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = [{} for _ in self._connections]
        for name, value in named.items():
            parts[server_of(name, len(parts))][name] = value
        return parts


def server_of(name: str, servers: int) -> int:
    """Return the server of a parameter. It uses crc32 because Python's hash() differs between processes."""
    return zlib.crc32(name.encode()) % servers
