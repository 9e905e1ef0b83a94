"""A TCP relay that lets one request through to a server and cuts the connection before the answer comes back."""

import contextlib
import socket
import threading
from collections.abc import Callable

_PIECE = 1 << 16


class AnswerCutter:
    """Passes everything on. Once armed, it waits for the answer to the next request that begins with certain bytes, and
    cuts the connection instead of passing it on: the server has done it, and the client does not know. `when_cut` is
    called in between."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._armed: tuple[bytes, Callable[[], None]] | None = None
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, beginning: bytes, when_cut: Callable[[], None] = lambda: None) -> None:
        self._armed = (beginning, when_cut)

    def close(self) -> None:
        _close(self._listening)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self._target)
        except OSError:
            _close(near)
            return
        to_cut = threading.Event()
        back = threading.Thread(target=self._answers, args=(far, near, to_cut), daemon=True)
        back.start()
        with contextlib.suppress(OSError):
            while data := near.recv(_PIECE):
                if self._armed is not None and data.startswith(self._armed[0]):
                    to_cut.set()
                far.sendall(data)
        _close(near)
        _close(far)

    def _answers(self, far: socket.socket, near: socket.socket, to_cut: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(_PIECE):
                armed = self._armed
                if to_cut.is_set() and armed is not None:
                    self._armed = None
                    self.cuts += 1
                    armed[1]()
                    break
                near.sendall(data)
        _close(near)
        _close(far)


def _close(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
