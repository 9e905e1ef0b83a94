"""A TCP relay on this machine that can be cut: connections break, and new ones are refused until it is mended."""

import contextlib
import socket
import threading

_PIECE = 1 << 16


class CuttableLink:
    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listening: socket.socket | None = None
        self.port = 0
        self.mend()

    def cut(self) -> None:
        with self._lock:
            listening, self._listening = self._listening, None
            ends, self._open = self._open, set()
        if listening is not None:
            _close(listening)
        for end in ends:
            _close(end)

    def mend(self) -> None:
        listening = socket.create_server(("127.0.0.1", self.port))
        self.port = listening.getsockname()[1]
        self._listening = listening
        threading.Thread(target=self._accept, args=(listening,), daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                near, _ = listening.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target)
            except OSError:
                _close(near)  # the server is down, and may come back
                continue
            with self._lock:
                is_cut = self._listening is not listening
                self._open |= {near, far}
            if is_cut:
                self.cut()
                return
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=_pump, args=(source, target), daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_PIECE):
            target.sendall(data)
    _close(source)
    _close(target)


def _close(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
