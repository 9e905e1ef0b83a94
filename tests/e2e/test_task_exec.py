"""`muster exec` and `muster shell` against a real server: in pipes, at a terminal, and when something is killed."""

import os
import secrets
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.pseudo_terminal import AtTerminal, at_terminal
from tests.parts.server import MusterServer, polls, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("exec") / "home") as made:
        yield made


@pytest.fixture(scope="module")
def job(server: MusterServer) -> str:
    return started(server, env={"OF_THE_JOB": "yes"}, replicas=2)


def started(server: MusterServer, **more: Any) -> str:
    name = f"exec-{secrets.token_hex(4)}"
    server.submit({"name": name, "command": "sleep 1000", **more})
    server.wait_for_state(name, "Running")
    return name


def terminal(server: MusterServer, *args: str) -> Any:
    return at_terminal(server.command(*args), server.environment)


def test_streams_the_exit_code_and_the_environment_pass_through(server: MusterServer, job: str) -> None:
    done = server.run(
        "exec", job, "-w", "worker-1", "--", "sh", "-c", "echo $OF_THE_JOB $MUSTER_TASK_INDEX; id >&2; exit 7"
    )
    assert done.returncode == 7
    assert done.stdout.startswith("yes")
    assert done.stderr.startswith("uid=")


def test_the_first_worker_is_taken_and_said(server: MusterServer, job: str) -> None:
    done = server.run("exec", job, "--", "sh", "-c", "echo $MUSTER_TASK_UID", check=True)
    assert ".worker.0" in done.stdout
    assert done.stderr == f"in {job}-worker-0, one of 2 tasks; -w selects another\n"


def test_a_number_is_enough_for_a_worker(server: MusterServer, job: str) -> None:
    done = server.run("exec", job, "-w", "1", "--", "sh", "-c", "echo $MUSTER_TASK_UID", check=True)
    assert ".worker.1" in done.stdout
    assert "it has worker-0, worker-1" in server.run("exec", job, "-w", "7", "--", "true").stderr


def test_pipes_carry_any_bytes_in_both_directions(server: MusterServer, job: str) -> None:
    data = os.urandom(3_000_000)
    words = server.command("exec", job, "-w", "worker-0", "-i", "--", "cat")
    done = subprocess.run(words, env=server.environment, input=data, capture_output=True, timeout=180, check=True)
    assert done.stdout == data
    assert done.stderr == b""


def test_without_i_there_is_no_input(server: MusterServer, job: str) -> None:
    assert server.run("exec", job, "-w", "worker-0", "--", "cat", check=True, input="not for it").stdout == ""


def test_errors_say_what_to_do(server: MusterServer, job: str) -> None:
    ended = started(server)
    server.run("kill", ended, check=True)
    server.wait(ended)
    refused = server.run("exec", ended, "--", "true")
    assert refused.returncode == 1
    assert f"job {ended} has ended" in refused.stderr
    assert f"muster logs {ended}" in refused.stderr
    assert "it has worker-0, worker-1" in server.run("exec", job, "-w", "worker-7", "--", "true").stderr
    assert "there is no terminal here" in server.run("shell", job).stderr
    piped = server.run("exec", job, "-w", "0", "--", "ls | wc -l")
    assert piped.returncode == 127
    assert f"for that: muster exec {job} -- sh -c 'ls | wc -l'" in piped.stderr
    assert server.run("exec", job).returncode == 2
    missing = server.run("exec", job, "-w", "worker-0", "--", "no-such-program")
    assert missing.returncode == 127
    assert "no-such-program" in missing.stderr


def test_a_shell_is_a_real_terminal_and_leaves_ours_as_it_was(server: MusterServer, job: str) -> None:
    with terminal(server, "shell", job, "-w", "worker-0") as at:
        at.type("echo s$((1+1)); stty size; test -t 0 && echo t$((2+2))\n")
        at.see("s2")
        at.see("30 90")
        at.see("t4")
        at.resize(44, 133)
        wait_for_size(at, "44 133")
        at.type("exit 5\n")
        assert at.wait() == 5
        assert at.is_restored


def wait_for_size(at: AtTerminal, size: str) -> None:
    """The change of the size and the keys take different ways."""
    at.type(f"until [ \"$(stty size)\" = '{size}' ]; do sleep 0.1; done; echo c$((3+3))\n")
    at.see("c6")


def test_control_c_goes_to_the_command(server: MusterServer, job: str) -> None:
    script = "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.1; done"
    with terminal(server, "exec", job, "-w", "worker-0", "-it", "--", "sh", "-c", script) as at:
        at.see("ready")
        at.type("\x03")
        at.see("caught")
        assert at.wait() == 9
        assert at.is_restored


def test_the_end_of_the_task_is_said_and_the_terminal_restored(server: MusterServer) -> None:
    job = started(server)
    with terminal(server, "exec", job, "-it", "--", "sh", "-c", "echo ready; exec sleep 1000") as at:
        at.see("ready")
        server.run("kill", job, check=True)
        assert at.wait() == 137
        assert "the task has ended" in at.screen
        assert at.is_restored


def test_the_terminal_is_restored_when_we_are_told_to_end(server: MusterServer, job: str) -> None:
    with terminal(server, "exec", job, "-w", "worker-0", "-it", "--", "sh", "-c", "echo ready; exec sleep 1000") as at:
        at.see("ready")
        at.process.send_signal(signal.SIGTERM)
        assert at.wait() == 128 + signal.SIGTERM
        assert at.is_restored


@pytest.mark.parametrize("kind", ["pipes", "terminal"])
def test_nothing_is_left_of_a_client_that_was_killed(server: MusterServer, job: str, tmp_path: Path, kind: str) -> None:
    words = (
        ("exec", job, "-w", "worker-0", "-it", "--") if kind == "terminal" else ("exec", job, "-w", "worker-0", "--")
    )
    with terminal(server, *words, "sh", "-c", says_pids(tmp_path)) as at:
        pids = pids_in(tmp_path)
        at.process.kill()
        wait_until_gone(pids)


def test_nothing_is_left_of_a_server_that_was_killed(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as server:
        job = started(server)
        with terminal(server, "exec", job, "-it", "--", "sh", "-c", f"printf '> '; {says_pids(tmp_path)}") as at:
            pids = pids_in(tmp_path)
            server.kill()
            wait_until_gone(pids)
            assert at.wait() == 1
            (said,) = [line for line in at.screen.splitlines() if "the connection to" in line]
            assert "> " not in said, "it begins on a line of its own"
            assert at.is_restored
        server.start()
        server.run("kill", job, check=True)


def says_pids(folder: Path) -> str:
    """A command with a child that has left its session."""
    inner = f"echo $$ > {folder}/inner.new; mv {folder}/inner.new {folder}/inner; exec sleep 1000"
    own = f"echo $$ > {folder}/own.new; mv {folder}/own.new {folder}/own"
    return f"{own}; setsid sh -c '{inner}' & wait; exec sleep 1000"


def pids_in(folder: Path) -> list[int]:
    for _ in polls(60):
        if (folder / "own").exists() and (folder / "inner").exists():
            return [int((folder / name).read_text()) for name in ("own", "inner")]
    raise AssertionError("the command has not started")


def wait_until_gone(pids: list[int]) -> None:
    for _ in polls(60):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return
    raise AssertionError(f"some of {pids} are still there")
