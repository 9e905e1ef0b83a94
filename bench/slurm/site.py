"""One Slurm cluster with a Muster server beside it, for one run of the bench."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.muster.client import MusterClient
from bench.muster.server import Address
from bench.slurm.controller import ControllerLog, read_calls
from tests.parts.server import MusterServer
from tests.parts.slurm import RealSlurm, SlurmOptions, slurm_unavailable
from tests.parts.slurm_accounting import accounting_unavailable
from tests.parts.slurm_server import CLUSTER, serving_slurm

POLL_S = 1.0
"""Muster's own default, unlike in the tests."""
_MORE = "SlurmctldLogFile={log}\nLogTimeFormat=iso8601_ms\nMaxJobCount=20000"


@dataclass(frozen=True)
class Site:
    slurm: RealSlurm
    server: MusterServer
    client: MusterClient
    log: ControllerLog
    folder: Path

    def calls(self) -> dict[str, int]:
        """How often each call of the controller was made so far."""
        return read_calls(self.slurm.run("sdiag"))


@contextmanager
def running_site() -> Iterator[Site]:
    if missing := slurm_unavailable() or accounting_unavailable():
        raise RuntimeError(missing)
    with tempfile.TemporaryDirectory(prefix="muster-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        log = folder / "slurm" / "log" / "controller.log"
        # TorchX cannot learn the state of a job without accounting.
        options = SlurmOptions(accounting=True, extra=_MORE.format(log=log))
        # All jobs are handed over at once, so that as many are queued in Slurm as the bench wants.
        settings: dict[str, Any] = {"pollEvery": f"{POLL_S:g}s", "order": "slurm"}
        with (
            RealSlurm(folder / "slurm", options) as slurm,
            serving_slurm(folder / "home", slurm, **settings) as server,
        ):
            client = MusterClient(Address("127.0.0.1", server.port, server.token))
            try:
                yield Site(slurm, server, client, ControllerLog(log), folder)
            finally:
                client.close()


def job_spec(name: str, *command: str) -> dict[str, Any]:
    return {"name": name, "cluster": CLUSTER, "command": list(command), "resources": {"cpu": 1, "memory": "100Mi"}}
