"""A PostgreSQL server that a test may kill like a power cut, and start again on the same files."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from tests.parts import postgres
from tests.parts.postgres import running_postgres


class KillablePostgres:
    def __init__(self, base: Path, url: str) -> None:
        self._base = base
        self._again = contextlib.ExitStack()
        self.url = url

    def kill(self) -> None:
        """The postmaster and all who serve connections, at once."""
        pid = int((self._base / "data" / "postmaster.pid").read_text().split()[0])
        for child in [*_children(pid), pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)  # a zombie would still count as the owner of the data folder

    def start(self) -> None:
        data, sockets = self._base / "data", self._base / "socket"
        self._again.enter_context(postgres._server(postgres.postgres_binaries(), data, sockets))

    def close(self) -> None:
        self._again.close()


@contextlib.contextmanager
def killable_postgres(base: Path) -> Iterator[KillablePostgres]:
    with running_postgres(base) as new_database:
        server = KillablePostgres(base, new_database(None))
        try:
            yield server
        finally:
            server.close()


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
