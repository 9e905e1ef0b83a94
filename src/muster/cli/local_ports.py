"""Ports on this machine that lead to ports of a task: every connection gets a thread and a WebSocket of its own."""

import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from selectors import EVENT_READ, DefaultSelector
from typing import TYPE_CHECKING

from muster.cli.failures import Failure
from muster.client.errors import MusterError

if TYPE_CHECKING:
    from muster.client.task_connections import TaskConnection

_MOST_CONNECTIONS = 128
_LOOK_EVERY_S = 1.0
Open = Callable[[int], "TaskConnection"]


@dataclass(frozen=True, slots=True)
class Mapping:
    local: int
    """0: any free port."""
    remote: int


def parsed(text: str) -> Mapping | None:
    """`8888:80` is local:remote, `8888` is both, and `:80` or `0:80` takes any free port here."""
    local, sign, remote = text.partition(":")
    local, remote = (local or "0", remote) if sign else (local, local)
    if not (local.isdigit() and remote.isdigit()):
        return None
    mapping = Mapping(int(local), int(remote))
    return mapping if mapping.local <= 65_535 and 1 <= mapping.remote <= 65_535 else None


class LocalPorts:
    """`opened` connects to a port of the task. `failed` is told what went wrong with one connection; others go on."""

    def __init__(self, address: str, mappings: Sequence[Mapping], opened: Open, failed: Callable[[str], None]) -> None:
        self._opened = opened
        self._failed = failed
        self._room = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self._error: MusterError | None = None
        self._listeners: list[tuple[socket.socket, Mapping]] = []
        try:
            for mapping in mappings:
                self._listeners.append((_listener(address, mapping.local), mapping))
        except BaseException:
            self.close()
            raise

    @property
    def shown(self) -> list[tuple[str, int]]:
        """The addresses at which they listen, and the remote port that each leads to."""
        return [(_shown(listener.getsockname()), mapping.remote) for listener, mapping in self._listeners]

    def serve(self, is_over: Callable[[MusterError], bool]) -> MusterError:
        """Serves until an error of which `is_over` says that nothing more can be reached, and returns it."""
        with DefaultSelector() as selector:
            for listener, mapping in self._listeners:
                selector.register(listener, EVENT_READ, mapping)
            while self._error is None:
                for key, _ in selector.select(_LOOK_EVERY_S):
                    if self._room.acquire(timeout=_LOOK_EVERY_S):
                        assert isinstance(key.fileobj, socket.socket)
                        self._accept(key.fileobj, key.data, is_over)
            return self._error

    def close(self) -> None:
        for listener, _ in self._listeners:
            listener.close()

    def _accept(self, listener: socket.socket, mapping: Mapping, is_over: Callable[[MusterError], bool]) -> None:
        try:
            local, _ = listener.accept()
        except OSError:
            self._room.release()
            return
        threading.Thread(target=self._relay, args=(local, mapping.remote, is_over), daemon=True).start()

    def _relay(self, local: socket.socket, port: int, is_over: Callable[[MusterError], bool]) -> None:
        """What went wrong is said before the local connection is closed."""
        with local:
            try:
                with self._opened(port) as connection:
                    connection.relay(local)
            except MusterError as error:
                self._failed(f"port {port}: {error.message}")
                if is_over(error):
                    self._error = error
            except OSError:
                pass  # the program here has closed its connection
            finally:
                self._room.release()


def _listener(address: str, port: int) -> socket.socket:
    try:
        return socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    except OSError as error:
        why = error.strerror or str(error)
        raise Failure(
            f"cannot listen on {address} port {port}: {why}", hint=f"take another one: 0:{port} takes any that is free"
        ) from error


def _shown(name: tuple[str, int]) -> str:
    host = f"[{name[0]}]" if ":" in name[0] else name[0]
    return f"{host}:{name[1]}"
