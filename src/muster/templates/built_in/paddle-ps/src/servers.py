"""Wait until the parameter servers listen.

PaddlePaddle's own wait does nothing in this build, and a worker that contacts a server too early hangs.
"""

import socket
import time

LIMIT_S = 60


def wait_for_servers(endpoints: list[str]) -> None:
    deadline = time.monotonic() + LIMIT_S
    for endpoint in endpoints:
        host, port = endpoint.rsplit(":", 1)
        while not _listens(host, int(port)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the parameter server {endpoint} did not listen within {LIMIT_S} s")
            time.sleep(0.05)


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False
