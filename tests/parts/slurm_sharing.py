"""One Slurm cluster, and servers that have it, for all tests of a worker. Each test finds them as if they were new.

A test may kill parts of the cluster and the server: what it leaves is mended before the next one.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.parts.server import MusterServer, end_all_jobs
from tests.parts.slurm import RealSlurm, SlurmOptions
from tests.parts.slurm_server import await_slurm, serving_slurm
from tests.parts.slurm_settling import settle


class SharedSlurm:
    """Starts what somebody asks for, once. `folder` is a short path that other users reach."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._clusters: dict[SlurmOptions, RealSlurm] = {}
        self._servers: dict[tuple[SlurmOptions, str], MusterServer] = {}

    def cluster(self, options: SlurmOptions | None = None) -> RealSlurm:
        options = options or SlurmOptions()
        if options not in self._clusters:
            started = RealSlurm(self._folder / f"c{len(self._clusters)}", options)
            self._clusters[options] = self._stack.enter_context(started)
        return self._clusters[options]

    def server(self, slurm: RealSlurm, kind: str, **more: Any) -> MusterServer:
        """`more` are keys of the cluster file, which are those of its kind."""
        key = (slurm.options, kind)
        if key not in self._servers:
            home = self._folder / f"home{len(self._servers)}"
            self._servers[key] = self._stack.enter_context(serving_slurm(home, slurm, **more))
        return self._servers[key]

    def mend_server(self, server: MusterServer, slurm: RealSlurm) -> None:
        """Nothing of the last test runs there any more."""
        slurm.mend()
        if not server.is_running:
            server.start()
        await_slurm(server)
        end_all_jobs(server)

    def close(self) -> None:
        self._stack.close()


def mend_cluster(slurm: RealSlurm) -> None:
    """All its parts run, nobody has a job there, and all nodes are idle."""
    slurm.mend()
    slurm.free()
    settle(slurm)


@contextmanager
def sharing_slurm() -> Iterator[SharedSlurm]:
    with tempfile.TemporaryDirectory(prefix="muster-slurm-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        shared = SharedSlurm(folder)
        try:
            yield shared
        finally:
            shared.close()
