"""A backup of a running server, and a start on it after more has happened: nothing runs again, nothing is stopped."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.parts.leftovers import task_processes
from tests.parts.postgres import PostgresMissing, running_postgres
from tests.parts.server import MusterServer, polls

from .conftest import unkindly_treated


@pytest.fixture(params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MusterServer]:
    with ExitStack() as stack:
        url = None
        if request.param == "postgresql":
            base = stack.enter_context(tempfile.TemporaryDirectory(prefix="muster-pg-", ignore_cleanup_errors=True))
            try:
                url = stack.enter_context(running_postgres(Path(base)))(None)
            except PostgresMissing as missing:
                pytest.skip(str(missing))
        made = stack.enter_context(unkindly_treated(tmp_path / "home", url))
        made.start()
        yield made


def test_a_restored_server_is_held_and_runs_nothing_again(server: MusterServer, tmp_path: Path) -> None:
    archive, runs = tmp_path / "backup.tar.gz", tmp_path / "runs"
    runs.mkdir()
    work = f"echo x >> {runs}/$MUSTER_JOB_NAME; until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    ended = server.submit({"name": "ended-later", "command": work})["id"]
    server.wait_for_state(ended, "Running")
    done = server.run("server", "backup", str(archive), check=True)
    assert "backed up 1 jobs" in done.stdout
    (tmp_path / "go").touch()
    assert server.wait(ended)["state"] == "Succeeded"
    unknown = server.submit({"name": "unknown", "command": f"until [ -e {tmp_path}/stop ]; do sleep 0.05; done"})["id"]
    server.wait_for_state(unknown, "Running")

    refused = server.run("server", "restore", "--replace", str(archive))
    assert refused.returncode == 1
    assert "already using" in refused.stderr, "the server runs"
    server.stop()
    assert "--replace" in server.run("server", "restore", str(archive)).stderr
    assert "restored 1 jobs" in server.run("server", "restore", "--replace", str(archive), check=True).stdout

    server.start()
    assert server.wait(ended)["attempt"] == 1
    assert server.call("GET", "/readyz")[1]["held"]
    new = server.submit({"name": "new", "command": "true"})["id"]
    log = (server.home / "stderr.log").read_text()
    assert "the restored database differs from the nodes" in log
    assert unknown in log
    assert any(unknown in path for path in map(str, (server.home / "node" / "tasks").iterdir()))
    assert task_processes(server.home), "the task that it does not know was stopped"
    assert server.call("GET", f"/api/v1/jobs/{new}")[1]["state"] == "Queued"
    (tmp_path / "stop").touch()

    server.run("server", "release", check=True)
    for _ in polls(60):
        status, job = server.call("GET", f"/api/v1/jobs/{new}")
        if status == 200 and job["state"] == "Succeeded":
            break
    assert job["state"] == "Succeeded"
    assert (runs / "ended-later").read_text() == "x\n"
