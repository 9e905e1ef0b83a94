"""Starts a real server with a pretended cluster. `python -m tests.parts.pretend_cluster.server HOME [PORT]` serves one
with some jobs until it is interrupted."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.parts.pretend_cluster.seeding import CLUSTER_FILES, seed
from tests.parts.server import MusterServer

ROOT = Path(__file__).parents[3]
_ENTRY = "[muster.backends]\npretend = tests.parts.pretend_cluster.kind:PRETEND\n"


def pretend_server(home: Path, *, port: int = 0, files: Mapping[str, str] = CLUSTER_FILES) -> MusterServer:
    """A server that has not been started. The backend is a plugin, found through a folder beside the home."""
    plugins = home.parent / f"{home.name}-plugins"
    info = plugins / "pretend_cluster-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pretend-cluster\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(_ENTRY)
    folder = home / "clusters.d"
    folder.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    (home / "config.yaml").write_text("logFile: {path: server.log}\n")
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return MusterServer(home, _environment(plugins), port)


def _environment(plugins: Path) -> Mapping[str, str]:
    return {"PYTHONPATH": f"{plugins}{os.pathsep}{ROOT}"}


@contextmanager
def running_pretend_server(home: Path, *, files: Mapping[str, str] = CLUSTER_FILES) -> Iterator[MusterServer]:
    server = pretend_server(home, files=files)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def main(arguments: list[str]) -> int:
    server = pretend_server(Path(arguments[0]), port=int(arguments[1]) if len(arguments) > 1 else 0)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    server.start()
    try:
        seed(server)
        print(f"a pretended cluster is at {server.url}, with MUSTER_HOME={server.home}", flush=True)
        while server.is_running:
            time.sleep(1)
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
