"""`muster cp` against a real server: out of tasks, into tasks, and what it refuses."""

import os
import secrets
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.parts.passable import open_to_all
from tests.parts.server import MusterServer, polls, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("cp") / "home") as made:
        yield made


@pytest.fixture(scope="module")
def job(server: MusterServer) -> str:
    name = f"cp-{secrets.token_hex(4)}"
    server.submit({"name": name, "command": "sleep 1000", "replicas": 2})
    server.wait_for_state(name, "Running")
    return name


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_files_and_folders_go_in_and_come_back(server: MusterServer, job: str, tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    (tmp_path / "in/deep er").mkdir(parents=True)
    (tmp_path / "in/deep er/data").write_bytes(data)
    (tmp_path / "in/run.sh").write_text("true")
    (tmp_path / "in/run.sh").chmod(0o755)
    (tmp_path / "in/link").symlink_to("run.sh")
    server.run("cp", "in", f"{job}:", "-w", "worker-1", check=True, cwd=tmp_path)
    assert "deep er" in server.run("exec", job, "-w", "worker-1", "--", "ls", "in", check=True).stdout
    assert server.run("exec", job, "-w", "worker-0", "--", "ls", "in").returncode != 0
    server.run("cp", f"{job}:in", "out", "-w", "worker-1", check=True, cwd=tmp_path)
    assert names(tmp_path / "out") == ["deep er", "deep er/data", "link", "run.sh"]
    assert (tmp_path / "out/deep er/data").read_bytes() == data
    assert (tmp_path / "out/run.sh").stat().st_mode & 0o111
    server.run("cp", "in/run.sh", f"{job}:in/again.sh", "-w", "worker-1", check=True, cwd=tmp_path)
    server.run("cp", f"{job}:in", ".", "-w", "worker-1", check=True, cwd=tmp_path)
    assert (tmp_path / "in/again.sh").read_text() == "true"
    server.run("cp", "in", f"{job}:", "-w", "worker-1", check=True, cwd=tmp_path)
    printed = server.run("cp", f"{job}:in/run.sh", "-", "-w", "worker-1", check=True, cwd=tmp_path)
    assert printed.stdout == "true"
    left = server.run("exec", job, "-w", "worker-1", "--", "find", ".", "-name", ".muster-cp*", check=True)
    assert left.stdout == ""
    assert [name for name in names(tmp_path) if "muster-cp" in name] == []


def test_what_is_wrong_is_said(server: MusterServer, job: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("1")
    for words, said in (
        ((f"{job}:no-such", "."), "the task has no no-such"),
        (("file", f"{job}:no-such/"), "has no folder for no-such/"),
        (("no-such", f"{job}:x"), "No such file"),
        ((f"{job}:/dev/null", "."), "neither a file nor a folder"),
        ((f"{job}:.", "missing/here"), "there is no folder missing"),
        ((f"{job}:.", "file"), "Not a directory"),
        (("-", f"{job}:x"), "cat > file"),
    ):
        refused = server.run("cp", *words, cwd=tmp_path)
        assert refused.returncode == 1
        assert said in refused.stderr, words
    assert server.run("cp", "a", "b", cwd=tmp_path).returncode == 2
    assert names(tmp_path) == ["file"]


def test_an_interrupted_copy_leaves_nothing(server: MusterServer, job: str, tmp_path: Path) -> None:
    """The file has no end, so that the copy is always under way when it is interrupted."""
    server.run("exec", job, "--", "truncate", "-s", "100G", "endless", check=True)
    with interruptible(server, "cp", f"{job}:endless", str(tmp_path / "endless")) as process:
        for _ in polls(60):
            if any(path.stat().st_size for path in tmp_path.glob(".muster-cp-*/content")):
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(90) == 130
    assert names(tmp_path) == []
    with (tmp_path / "endless").open("wb") as file:
        file.truncate(100 << 30)
    with interruptible(server, "cp", str(tmp_path / "endless"), f"{job}:up") as process:
        for _ in polls(60):
            if server.run("exec", job, "--", "sh", "-c", "test -s .muster-cp-*/content").returncode == 0:
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(90) == 130
    for _ in polls(60):
        left = server.run("exec", job, "--", "sh", "-c", "ls -A", check=True).stdout
        if "muster-cp" not in left:
            break
    assert "muster-cp" not in left
    assert "up" not in left.split()


@contextmanager
def interruptible(server: MusterServer, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Also where the tests run in the background of a shell, which ignores Ctrl-C for them."""
    process = subprocess.Popen(
        server.command(*words),
        env=server.environment,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_number_is_enough_for_a_worker_that_runs_or_has_ended(server: MusterServer, tmp_path: Path) -> None:
    open_to_all(tmp_path)
    name = f"cp-{secrets.token_hex(4)}"
    (tmp_path / "go").touch()
    script = f"echo $MUSTER_ROLE_INDEX > who; until [ -e go ] && [ -e {tmp_path}/copied ]; do sleep 0.1; done"
    server.submit({"name": name, "command": script, "outputs": ["who"], "replicas": 2})
    server.wait_for_state(name, "Running")
    for worker in ("0", "1"):
        server.run("cp", "go", f"{name}:", "-w", worker, check=True, cwd=tmp_path)
    (tmp_path / "copied").touch()
    server.wait(name)
    for _ in polls(60):
        if server.run("cp", f"{name}:who", "who", "-w", "1", cwd=tmp_path).returncode == 0:
            break
    assert (tmp_path / "who").read_text() == "1\n"


def test_the_outputs_of_an_ended_job_are_copied(server: MusterServer, tmp_path: Path) -> None:
    name = f"cp-{secrets.token_hex(4)}"
    server.submit({"name": name, "command": "mkdir model; echo 1 > model/a; echo 2 > other", "outputs": ["model"]})
    server.wait(name)
    for _ in polls(60):
        if server.run("cp", f"{name}:model", "got", cwd=tmp_path).returncode == 0:
            break
    assert (tmp_path / "got/a").read_text() == "1\n"
    into = server.run("cp", "got", f"{name}:", cwd=tmp_path)
    assert into.returncode == 1
    assert into.stderr == (
        f"error: job {name} has ended: files can only be copied into a running task\n"
        f"hint: `muster retry {name}` runs it again; `inputs` in a job file names files that tasks get\n"
    )
    refused = server.run("cp", f"{name}:other", "got", cwd=tmp_path)
    assert refused.returncode == 1
    assert f"muster outputs {name}" in refused.stderr
