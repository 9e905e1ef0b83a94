"""`muster fs` on SSH hosts whose agent is nobody special: what it may not do, full disks, and lines that break."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.hosts import DISK, PLAIN_USER, HostOptions, HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import CLUSTER, serving

SCRATCH, SMALL = "/srv/scratch", f"{DISK}/small"
SOME_BYTES, MANY_BYTES = 8 << 20, 96 << 20


@pytest.fixture(scope="module")
def pair(can_make_hosts: None) -> Iterator[HostPool]:
    with HostPool([HostOptions(user=PLAIN_USER, disk_mib=64)] * 2) as made:
        for host in made.hosts:
            host.run(["sh", "-c", f"mkdir -p {SCRATCH} {SMALL}; chmod 777 {DISK} {SCRATCH} {SMALL}"])
        yield made


@pytest.fixture(scope="module")
def server(pair: HostPool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    folders = {name: {"path": path, "shared": False} for name, path in (("scratch", SCRATCH), ("small", SMALL))}
    with serving(tmp_path_factory.mktemp("home"), pair, folders=folders) as made:
        yield made


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large"
    path.write_bytes(os.urandom(MANY_BYTES))
    return path


def refused(server: MusterServer, *words: str) -> "subprocess.CompletedProcess[str]":
    done = server.run("fs", *words)
    assert done.returncode == 1, done.stdout + done.stderr
    return done


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_what_the_account_may_not_read_is_counted_and_the_rest_is_done(
    server: MusterServer, pair: HostPool, tmp_path: Path
) -> None:
    tree = f"{SCRATCH}/tree"
    pair[0].run(["sh", "-c", f"mkdir -p {tree}/locked; echo good > {tree}/good; echo bad > {tree}/bad"])
    pair[0].run(["sh", "-c", f"chmod 700 {tree}/locked; chmod 600 {tree}/bad"])
    where = f"{CLUSTER}/{pair[0].name}:scratch"
    told = json.loads(refused(server, "get", "-r", f"{where}/tree", str(tmp_path / "got"), "-o", "json").stdout)
    assert [lack["path"] for lack in told["leftOut"]] == [f"{where}/tree/locked"]
    assert [lack["path"] for lack in told["refused"]] == [f"{where}/tree/bad"]
    assert "the account that runs the node's agent may not do this" in told["refused"][0]["why"]
    assert (tmp_path / "got" / "good").read_text() == "good\n"
    assert "2 left out" in refused(server, "cp", "-r", f"{where}/tree", f"{where}/copy").stderr
    assert [path.name for path in pair[0].path(f"{SCRATCH}/copy").iterdir()] == ["good"]
    refused(server, "cp", "-r", f"{where}/tree/locked", f"{where}/nothing")
    assert not pair[0].path(f"{SCRATCH}/nothing").exists()
    (used,) = json.loads(server.run("fs", "du", f"{where}/tree", "-o", "json", check=True).stdout)["items"]
    assert (used["files"], used["skipped"]) == (2, 1)


def test_a_full_disk_is_said_with_the_path_and_half_a_file_does_not_keep_it_full(
    server: MusterServer, pair: HostPool, large: Path
) -> None:
    where = f"{CLUSTER}/{pair[1].name}:small/large"
    told = refused(server, "put", str(large), where).stderr
    assert f"{where}: no space is left on the node's disk" in told
    assert "Errno" not in told
    assert list(pair[1].path(SMALL).iterdir()) == []
    pair[1].path(f"{SCRATCH}/large").write_bytes(large.read_bytes())
    pair[1].path(f"{SCRATCH}/large").chmod(0o644)
    source = f"{CLUSTER}/{pair[1].name}:scratch/large"
    for word in ("cp", "mv"):
        assert "no space is left" in refused(server, word, source, where).stderr
    assert list(pair[1].path(SMALL).iterdir()) == []
    assert pair[1].path(f"{SCRATCH}/large").stat().st_size == MANY_BYTES


def grown(moving: "subprocess.Popen[str]", folder: Path, pattern: str) -> int | None:
    """The inode of a file of such a name, once some megabytes of it are there; None if the command ends before."""
    for _ in polls(120, 0.01):
        for path in folder.glob(pattern):
            with contextlib.suppress(FileNotFoundError):
                if (found := path.stat()).st_size >= SOME_BYTES:
                    return found.st_ino
        if moving.poll() is not None:
            return None
    raise AssertionError(f"no {pattern} in {folder} became {SOME_BYTES} bytes large")


def test_ctrl_c_of_a_put_and_a_get_leave_what_the_next_go_on_with(
    server: MusterServer, pair: HostPool, large: Path, tmp_path: Path
) -> None:
    where = f"{CLUSTER}/{pair[0].name}:scratch/stopped"
    put = ("put", str(large), where)
    target = pair[0].path(f"{SCRATCH}/stopped")
    part = _stopped(server, put, target, ".muster-upload-*", "kept on the cluster for a day")
    server.run("fs", *put, check=True)
    assert (target.stat().st_ino, digest(target)) == (part, digest(large))
    get = ("get", where, str(tmp_path / "back"))
    part = _stopped(server, get, tmp_path / "back", ".muster-get-*", "kept next to its target")
    server.run("fs", *get, check=True)
    assert ((tmp_path / "back").stat().st_ino, digest(tmp_path / "back")) == (part, digest(large))
    assert [path.name for path in tmp_path.iterdir()] == ["back"]


def _stopped(server: MusterServer, words: tuple[str, ...], target: Path, pattern: str, said: str) -> int:
    """The inode of what it left. One that was over before it could be stopped is begun again."""
    for _ in range(20):
        with server.popen("fs", *words) as moving:
            part = grown(moving, target.parent, pattern)
            moving.send_signal(signal.SIGINT)
            _, told = moving.communicate(timeout=120)
        if part is not None and moving.returncode == 130:
            assert said in told
            return part
        assert moving.returncode in (0, 130), told
        target.unlink(missing_ok=True)
    raise AssertionError("it was never stopped in time")


@pytest.mark.parametrize("word", ["put", "get"])
def test_a_line_that_breaks_is_waited_for(
    server: MusterServer, pair: HostPool, large: Path, tmp_path: Path, word: str
) -> None:
    where = f"{CLUSTER}/{pair[0].name}:scratch/broken-{word}"
    there = pair[0].path(f"{SCRATCH}/broken-{word}")
    folder, pattern = pair[0].path(SCRATCH), ".muster-upload-*"
    words = ("put", str(large), where)
    if word == "get":
        server.run("fs", *words, check=True)
        folder, pattern, words = tmp_path, ".muster-get-*", ("get", where, str(tmp_path / "back"))
    with server.popen("fs", *words) as moving:
        grown(moving, folder, pattern)
        pair[0].kill_sshd()
        pair[0].start_sshd()
        _, told = moving.communicate(timeout=240)
    assert moving.returncode == 0, told
    assert digest(there if word == "put" else tmp_path / "back") == digest(large)
