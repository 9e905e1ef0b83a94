"""The cost of a server that has nothing to do: CPU and writes per minute, alone and with a standby.

`python -m bench.idle [SECONDS]`. Most of it is the lease, which the server that acts renews and a standby reads.
"""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.parts.server import MusterServer

_SETTLE_S = 5.0
_SECONDS = 60.0


def main(arguments: Sequence[str]) -> None:
    seconds = float(arguments[0]) if arguments else _SECONDS
    with tempfile.TemporaryDirectory(prefix="muster-bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder) / "home"
        acting, standby = MusterServer(home), MusterServer(home, {"MUSTER_STANDBY": "true"})
        try:
            acting.start()
            _measure({"alone": acting}, seconds)
            standby.start()
            _measure({"acting, with a standby": acting, "standby": standby}, seconds)
        finally:
            standby.stop()
            acting.stop()


def _measure(servers: dict[str, MusterServer], seconds: float) -> None:
    time.sleep(_SETTLE_S)
    before = {name: _used(server.pid) for name, server in servers.items()}
    time.sleep(seconds)
    for name, server in servers.items():
        used = [
            (after - earlier) * 60 / seconds for earlier, after in zip(before[name], _used(server.pid), strict=True)
        ]
        cpu_s, calls, written = used
        print(
            f"{name:24} {cpu_s * 1e3:6.0f} ms CPU/min ({cpu_s / 0.6:.2f} %)   "
            f"{calls:6.0f} write calls/min   {written / 1024:7.0f} KiB to disk/min"
        )


def _used(pid: int) -> tuple[float, float, float]:
    """CPU seconds, write calls and bytes sent to the disk of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    counts = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return ticks / os.sysconf("SC_CLK_TCK"), float(counts["syscw"]), float(counts["write_bytes"])


if __name__ == "__main__":
    main(sys.argv[1:])
