"""A backup of a running server, and a start on it after more has happened: nothing runs again, nothing is stopped."""

import tarfile
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


def test_secrets_are_in_a_backup_and_their_key_only_when_asked_for(server: MusterServer, tmp_path: Path) -> None:
    bare, whole = tmp_path / "bare.tar.gz", tmp_path / "whole.tar.gz"
    server.run("secret", "set", "key", input="hunter2\n", check=True)
    assert "without their key: keep a copy of" in server.run("server", "backup", str(bare), check=True).stdout
    said = server.run("server", "backup", "--with-secrets-key", str(whole), check=True).stdout
    assert "It has 1 secrets and their key" in said
    assert ["home/secrets-key" in names_in(archive) for archive in (bare, whole)] == [False, True]

    first = server.home / "secrets-key"
    before = first.read_text()
    assert "encrypted 1 secrets" in server.run("server", "rotate-secrets-key", check=True).stdout
    assert first.read_text().split()[1:] == before.split()
    assert works(server)
    said = server.run("server", "rotate-secrets-key", "--drop-old", check=True).stdout
    assert "removed 2 older keys" in said
    assert len(first.read_text().split()) == 1
    assert works(server)
    kinds = [event["kind"] for event in server.json("events", "--kind", "audit", "-n", "500")["items"]]
    assert kinds.count("audit.secrets-key.rotate") == 2
    assert kinds.count("audit.secrets-key.drop-old") == 1

    server.stop()
    server.run("server", "restore", "--replace", str(bare), check=True)
    server.start()
    server.run("server", "release", check=True)
    for _ in polls(60):
        if server.call("GET", "/readyz")[0] == 200 and not server.call("GET", "/readyz")[1].get("held"):
            break
    assert server.json("get", "secrets")["items"][0]["name"] == "key"
    assert not works(server), "the key of the backup was dropped"
    refused = server.run("server", "rotate-secrets-key").stderr
    assert "1 secrets cannot be decrypted" in refused
    assert "muster secret set NAME" in refused
    assert "1 of 1 cannot be decrypted with the present key" in server.run("doctor").stdout
    assert "secrets cannot be decrypted" in (server.home / "stderr.log").read_text()
    first.write_text(before)
    assert works(server)


def works(server: MusterServer) -> bool:
    """Whether a job gets the secret."""
    spec = {"name": "user", "command": '[ "$KEY" = hunter2 ]', "secrets": [{"name": "key", "env": "KEY"}]}
    job = server.wait(server.submit(spec)["id"])
    assert job["state"] == "Succeeded" or "encrypted with key" in job["reason"], job
    return bool(job["state"] == "Succeeded")


def names_in(archive: Path) -> list[str]:
    with tarfile.open(archive) as opened:
        return opened.getnames()


def test_a_restored_server_uses_its_new_home_while_the_old_one_still_exists(tmp_path: Path) -> None:
    archive, old_home, new_home = tmp_path / "backup.tar.gz", tmp_path / "old", tmp_path / "new"
    with unkindly_treated(old_home) as old:
        old.start()
        old.wait(old.submit({"name": "before", "command": "true"})["id"])
        for name in ("tls.crt", "tls.key"):
            (old_home / name).write_text(name)
        old.run("server", "backup", str(archive), check=True)
    with unkindly_treated(new_home) as new:
        new.run("server", "restore", str(archive), check=True)
        assert (new_home / "identity").read_text() == (old_home / "identity").read_text()
        assert (new_home / "tls.key").read_text() == "tls.key"
        assert (new_home / "tls.key").stat().st_mode & 0o777 == 0o600
        new.run("server", "release", check=True)
        before = files_under(old_home)
        new.start()
        job = new.wait(new.submit({"name": "after", "command": "echo hi"})["id"])
        assert job["state"] == "Succeeded"
        new.run("secret", "set", "key", input="hunter2\n", check=True)
        assert (new_home / "secrets-key").exists()
        assert any(job["id"] in path for path in files_under(new_home / "logs"))
        assert files_under(new_home / "node")
        assert files_under(old_home) == before, "the new server used the old home folder"


def files_under(folder: Path) -> dict[str, int]:
    """The time of the last change of each file."""
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_backup_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    server = MusterServer(tmp_path / "home")
    nothing = server.run("server", "backup", str(tmp_path / "b.tar.gz"))
    assert (nothing.returncode, "Traceback" in nothing.stderr) == (1, False)
    assert f"there is no home folder {server.home}" in nothing.stderr
    assert "--home FOLDER" in nothing.stderr
    server.home.mkdir()
    assert "there is no database" in server.run("server", "backup", str(tmp_path / "b.tar.gz")).stderr
    (server.home / "muster.db").touch()
    nowhere = server.run("server", "backup", str(tmp_path / "none" / "b.tar.gz"))
    assert (nowhere.returncode, "Traceback" in nowhere.stderr) == (1, False)
    assert "No such file or directory" in nowhere.stderr
    assert "a folder that exists" in nowhere.stderr


def test_a_restored_server_is_held_and_runs_nothing_again(server: MusterServer, tmp_path: Path) -> None:
    archive, runs = tmp_path / "backup.tar.gz", tmp_path / "runs"
    runs.mkdir()
    work = f"echo x >> {runs}/$MUSTER_JOB_NAME; until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    ended = server.submit({"name": "ended-later", "command": work})["id"]
    server.wait_for_state(ended, "Running")
    done = server.run("server", "backup", str(archive), check=True)
    assert "backed up 1 job and" in done.stdout
    (tmp_path / "go").touch()
    assert server.wait(ended)["state"] == "Succeeded"
    unknown = server.submit({"name": "unknown", "command": f"until [ -e {tmp_path}/stop ]; do sleep 0.05; done"})["id"]
    server.wait_for_state(unknown, "Running")

    refused = server.run("server", "restore", "--replace", str(archive))
    assert refused.returncode == 1
    assert "already using" in refused.stderr, "the server runs"
    server.stop()
    assert "--replace" in server.run("server", "restore", str(archive)).stderr
    assert "restored 1 job as" in server.run("server", "restore", "--replace", str(archive), check=True).stdout

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
    assert "this server was released" in (server.home / "stderr.log").read_text()
    assert "audit.server.release" in server.run("events", "--kind", "audit.server", check=True).stdout
    assert (runs / "ended-later").read_text() == "x\n"
