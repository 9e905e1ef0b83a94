"""Jobs that are submitted by the logins of their owners, over SSH."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_server import CLUSTER, await_slurm, serving_slurm, token_of

pytestmark = pytest.mark.slurm
GAMES, DAEMON = "games", "daemon"
_NUMBERS = {GAMES: (5, 60), DAEMON: (1, 1)}
_OWN_FOLDER = "/mnt/${user}/muster"


@pytest.fixture
def remote(pool: HostPool, remote: RealSlurm) -> RealSlurm:
    """The accounts can log in, and each has a folder that the nodes see, too."""
    host = pool[0]
    accounts = host.path("/etc/passwd")
    for name, (user, group) in _NUMBERS.items():
        folder, account = host.path(f"/mnt/{name}"), f"{name}:x:{user}:{group}::/mnt/{name}:/bin/bash\n"
        if folder.exists():
            continue  # an earlier test has added them
        accounts.write_text(account + accounts.read_text())
        folder.mkdir()
        os.chown(folder, user, group)
    return remote


@pytest.fixture
def keys(pool: HostPool, tmp_path: Path) -> Path:
    """One key for each user who has a login, named after the user."""
    folder = tmp_path / "keys"
    folder.mkdir()
    for name in _NUMBERS:
        shutil.copy(pool.key_file, folder / name)
    return folder


@pytest.mark.parametrize("shared", [_OWN_FOLDER, None], ids=["shared", "unshared"])
def test_jobs_of_two_users_run_under_their_own_accounts(
    pool: HostPool, remote: RealSlurm, keys: Path, tmp_path: Path, shared: str | None
) -> None:
    with _serving(pool, remote, keys, tmp_path, shared) as server:
        for user in _NUMBERS:
            token = token_of(server, user)
            job = _submit(server, token, "id --user --name | tee who.txt", outputs=["who.txt"])

            assert server.wait(job)["state"] == "Succeeded", server.run("explain", job).stdout
            assert server.run("logs", job, check=True).stdout.strip() == user
            server.run("outputs", job, "--get", str(tmp_path / user), check=True)
            assert [path.read_text().strip() for path in (tmp_path / user).rglob("who.txt")] == [user]
            assert _owner_in_slurm(remote, job) == user


def test_running_job_is_entered_and_stopped_by_the_login_of_its_owner(
    pool: HostPool, remote: RealSlurm, keys: Path, tmp_path: Path
) -> None:
    with _serving(pool, remote, keys, tmp_path, _OWN_FOLDER) as server:
        job = _submit(server, token_of(server, GAMES), "sleep 3000")
        server.wait_for_state(job, "Running")

        said = server.run("exec", job, "--", "id", "-un", check=True).stdout
        server.run("kill", job, check=True)

        assert said.strip() == GAMES
        assert server.wait(job)["state"] == "Cancelled"
        remote.wait_until_empty()


def test_server_that_starts_again_finds_the_jobs_of_all_logins(
    pool: HostPool, remote: RealSlurm, keys: Path, tmp_path: Path
) -> None:
    go = "/mnt/go-own"
    command = f"echo begun; while [ ! -e {go} ]; do sleep 0.1; done; echo finished"
    with _serving(pool, remote, keys, tmp_path, _OWN_FOLDER) as server:
        jobs = [_submit(server, token_of(server, user), command) for user in _NUMBERS]
        for job in jobs:
            server.wait_for_state(job, "Running")

        server.kill()
        pool[0].path(go).touch()
        server.start()
        await_slurm(server)

        for job in jobs:
            assert server.wait(job)["state"] == "Succeeded", server.run("explain", job).stdout
            assert server.run("logs", job, check=True).stdout.splitlines() == ["begun", "finished"]
            assert _names_in_slurm(remote).count(f"own.{job}.1") == 1
            assert f"own.{job}.2" not in _names_in_slurm(remote)


def test_job_of_a_user_without_a_login_is_refused_when_it_is_submitted(
    pool: HostPool, remote: RealSlurm, keys: Path, tmp_path: Path
) -> None:
    with _serving(pool, remote, keys, tmp_path, _OWN_FOLDER) as server:
        spec = {"name": "own", "cluster": CLUSTER, "command": "true"}

        status, answer = server.call("POST", "/api/v1/jobs", {"spec": spec}, token=token_of(server, "amy"))

        assert status == 422, answer
        assert "amy has no login on cluster hpc" in str(answer)
        assert "ask an admin" in str(answer)


def test_login_that_does_not_work_holds_up_nobody_else(
    pool: HostPool, remote: RealSlurm, keys: Path, tmp_path: Path
) -> None:
    (keys / "amy").write_text((keys / GAMES).read_text())  # there is no such account
    with _serving(pool, remote, keys, tmp_path, _OWN_FOLDER) as server:
        waiting = _submit(server, token_of(server, "amy"), "true")
        other = _submit(server, token_of(server, GAMES), "echo hello")

        assert server.wait(other)["state"] == "Succeeded", server.run("explain", other).stdout
        for _ in polls(60):
            notes = server.run("describe", f"cluster/{CLUSTER}", check=True).stdout
            if "login of amy does not answer" in notes:
                break
        else:
            raise AssertionError(notes)

        server.run("kill", waiting, check=True)

        assert server.wait(waiting)["state"] == "Cancelled", server.run("explain", waiting).stdout


def test_check_says_which_logins_work(pool: HostPool, remote: RealSlurm, keys: Path, tmp_path: Path) -> None:
    (keys / "amy").write_text((keys / GAMES).read_text())
    with _serving(pool, remote, keys, tmp_path, _OWN_FOLDER) as server:
        found = server.run("cluster", "check", "--connect")

        assert found.returncode == 0
        assert f"cluster {CLUSTER}: logins that work: daemon, games" in found.stderr
        assert f"warning: cluster {CLUSTER}: the login of amy does not work" in found.stderr


def _serving(pool: HostPool, remote: RealSlurm, keys: Path, tmp_path: Path, shared: str | None) -> Any:
    login = {"host": pool[0].address, "user": "muster", "keyFile": str(pool.key_file), "hostKeys": "first-use"}
    logins = {"*": {"keyFile": f"{keys}/${{owner}}"}}
    more = {"login": login, "logins": logins, "sharedFolder": shared, "conf": None}
    return serving_slurm(tmp_path / "home", remote, submitAs="login", **more)


def _submit(server: MusterServer, token: str, command: str, **more: Any) -> str:
    spec = {"name": "own", "cluster": CLUSTER, "command": command, "resources": {"cpu": 1}, **more}
    status, job = server.call("POST", "/api/v1/jobs", {"spec": spec}, token=token)
    assert status < 300, job
    return str(job["id"])


def _owner_in_slurm(slurm: RealSlurm, job: str) -> str:
    lines = slurm.run("squeue", "--noheader", "--states=all", "--format=%u %j").splitlines()
    return next(line.split()[0] for line in lines if job in line)


def _names_in_slurm(slurm: RealSlurm) -> list[str]:
    return slurm.run("squeue", "--noheader", "--states=all", "--format=%j").split()
