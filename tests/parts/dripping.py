"""A server that sends one byte now and then for ever, so that no single read takes long and no answer ever ends."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def dripping() -> Iterator[int]:
    """Yields its port. It has one visitor."""
    end = threading.Event()

    def serve(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            while not end.wait(0.05):
                try:
                    connection.sendall(b"H")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        end.set()
        thread.join(10)
