"""A real Muster server that has a real Slurm cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.parts.server import MusterServer, end_all_jobs, polls
from tests.parts.slurm import RealSlurm

CLUSTER = "hpc"
_PASSWORD = "a long enough password"


def write_slurm_cluster(home: Path, slurm: RealSlurm, name: str = CLUSTER, **more: Any) -> None:
    """The shared folder is beside the home: on this machine, all nodes see it."""
    settings = {
        "name": name,
        "backend": "slurm",
        "login": "here",
        "sharedFolder": str(slurm.folder / "shared"),
        "conf": str(slurm.conf),
        "pollEvery": "200ms",
        **more,
    }
    settings = {key: value for key, value in settings.items() if value is not None}
    (home / "clusters.d").mkdir(parents=True, exist_ok=True)
    (home / "clusters.d" / f"{name}.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))


@contextmanager
def serving_slurm(home: Path, slurm: RealSlurm, **more: Any) -> Iterator[MusterServer]:
    """The server may be killed and started again by the test."""
    write_slurm_cluster(home, slurm, **more)
    server = MusterServer(home, {"MUSTER_LOG_FILE": "server.log"})
    server.start()
    try:
        await_slurm(server)
        yield server
    finally:
        if server.is_running:
            end_all_jobs(server)
        server.stop()


def await_slurm(server: MusterServer, state: str = "Ready") -> None:
    """Wait until the cluster takes jobs, or is in another state."""
    clusters: list[Any] = []
    for _ in polls(60):
        clusters = server.call("GET", "/api/v1/clusters")[1]["items"]
        if any(one["name"] == CLUSTER and one["state"] == state for one in clusters):
            return
    raise AssertionError(f"the cluster is not {state}: {clusters}\n{(server.home / 'server.log').read_text()[-4000:]}")


def token_of(server: MusterServer, user: str) -> str:
    """Adds the user, and logs in."""
    added = server.call("POST", "/api/v1/users", {"name": user, "password": _PASSWORD, "role": "user"})
    assert added[0] < 300, added
    status, session = server.call("POST", "/api/v1/login", {"user": user, "password": _PASSWORD})
    assert status == 200, session
    return str(session["token"])
