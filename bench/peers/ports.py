"""Free TCP ports, and waiting until somebody listens on one."""

import socket
import subprocess
import time
from pathlib import Path

from bench.peers.peer import PeerFailed

LOOK_S = 0.05


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path, deadline_s: float) -> None:
    """Return when the port answers; raise when the process ends first or the time is over."""
    give_up = time.monotonic() + deadline_s
    while time.monotonic() < give_up:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(LOOK_S)
    raise PeerFailed(f"nothing listens on port {port}; the log says: {log.read_text(errors='replace')[-300:]}")
