"""The parameter-server side: one shard of the model's parameters, served until SIGTERM.

It stores named vectors of floats and adds what workers send; it is independent of the model.
"""

import random
import signal
import socket
import socketserver
import threading
import zlib
from typing import Any

import channel

BARRIER_LIMIT_S = 30.0


class Shard:
    """The parameters whose names hash to this server. Safe to call from several threads."""

    def __init__(self, workers: int) -> None:
        self._values: dict[str, list[float]] = {}
        self._lock = threading.Lock()
        self._barrier = threading.Barrier(workers)

    def answer(self, request: dict[str, Any]) -> Any:
        match request["op"]:
            case "pull":
                return self._pull(request["sizes"])
            case "push":
                return self._push(request["gradients"], request["rate"])
            case "barrier":
                return self._barrier.wait(BARRIER_LIMIT_S)
            case unknown:
                raise ValueError(f"unknown operation {unknown!r}")

    def describe(self) -> str:
        floats = sum(len(value) for value in self._values.values())
        return f"{len(self._values)} parameters, {floats} floats"

    def _pull(self, sizes: dict[str, int]) -> dict[str, list[float]]:
        with self._lock:
            for name, size in sizes.items():
                if name not in self._values:
                    self._values[name] = _initial(name, size)
            return {name: list(self._values[name]) for name in sizes}

    def _push(self, gradients: dict[str, list[float]], rate: float) -> bool:
        with self._lock:
            for name, gradient in gradients.items():
                value = self._values[name]
                for i, slope in enumerate(gradient):
                    value[i] -= rate * slope
        return True


def serve(host: str, port: int, workers: int) -> None:
    """Serve one shard until SIGTERM, then return."""
    shard = Shard(workers)
    with _Server((host, port), _handler_for(shard)) as server:
        # shutdown() waits for serve_forever() to end, so it cannot run in the thread that serves.
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
        print(f"serving on {host}:{port}")
        server.serve_forever(poll_interval=0.05)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second signal must not interrupt the clean exit
    print(f"stopped, holding {shard.describe()}")


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False


def _handler_for(shard: Shard) -> type[socketserver.BaseRequestHandler]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                try:
                    request = channel.receive(self.request)
                except (EOFError, ConnectionResetError):
                    return
                channel.send(self.request, shard.answer(request))

    return Handler


def _initial(name: str, size: int) -> list[float]:
    """Return an initial value that depends only on the name, so that every run starts the same way."""
    if name.startswith("wide:"):
        return [0.0] * size
    chance = random.Random(zlib.crc32(name.encode()))
    return [chance.uniform(-0.5, 0.5) for _ in range(size)]
