"""`muster run -it` and `muster attach` against a real server: at terminals, in pipes, and when something is killed."""

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

_DETACH = "\x10\x11"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("interactive") / "home") as made:
        yield made


def terminal(server: MusterServer, *args: str) -> Any:
    return at_terminal(server.command(*args), server.environment)


def new_name() -> str:
    return f"it-{secrets.token_hex(4)}"


def piped(server: MusterServer, data: bytes, *args: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        server.command(*args), env=server.environment, input=data, capture_output=True, timeout=180, check=False
    )


def test_a_job_is_worked_at_left_and_come_back_to(server: MusterServer) -> None:
    name = new_name()
    with terminal(server, "run", "--no-package", "-it", "--name", name, "--", "sh") as at:
        at.type("PS1='$ '; test -t 0 && echo t$((2+2)); stty size; echo \"<$TERM>\"; tty\n")
        at.see("t4")
        at.see("30 90")
        at.see("<xterm>")
        at.see("/dev/pts/")
        at.resize(44, 133)
        wait_for_size(at, "44 133")
        at.type("sleep 1000; echo on$((1+1))\n")
        at.see("sleep 1000")
        at.type("\x03")
        at.type("echo after-$((40+2))\n")
        at.see("after-42")
        at.type("kept=yes\n")
        at.type(_DETACH)
        assert at.wait() == 0
        assert f"detached; job {name} continues" in at.screen
        assert at.is_restored
    with terminal(server, "attach", name) as first, terminal(server, "attach", name) as second:
        first.see("after-42")
        second.see("after-42")
        first.type("echo $kept-$((5+5))\n")
        first.see("yes-10")
        second.see("yes-10")
        second.type("exit 7\n")
        assert (first.wait(), second.wait()) == (7, 7)
        assert first.is_restored
        assert second.is_restored
    assert server.wait(name)["state"] == "Failed"
    assert "yes-10" in server.run("logs", name, check=True).stdout


def wait_for_size(at: AtTerminal, size: str) -> None:
    """The change of the size and the keys take different ways."""
    at.type(f"until [ \"$(stty size)\" = '{size}' ]; do sleep 0.1; done; echo c$((3+3))\n")
    at.see("c6")


def test_input_is_piped_in_to_its_end_and_the_exit_code_is_that_of_the_command(server: MusterServer) -> None:
    data = b"".join(b"%07d\n" % number for number in range(100_000))
    done = piped(server, data, "run", "--no-package", "-i", "--name", new_name(), "--", "cat")
    assert done.stdout == data
    assert done.returncode == 0
    done = piped(server, b"print(6 * 7)\nraise SystemExit(3)\n", "run", "--no-package", "-i", "--", "python3", "-")
    assert done.stdout == b"42\n"
    assert done.returncode == 3


def test_a_job_that_ends_before_anybody_comes_is_printed_all_the_same(server: MusterServer) -> None:
    done = piped(server, b"", "run", "--no-package", "-i", "--", "sh", "-c", "echo brief; exit 4")
    assert (done.stdout, done.returncode) == (b"brief\n", 4)


def test_a_queued_job_says_why_and_control_c_cancels_it(server: MusterServer) -> None:
    name, first, cpus = new_name(), new_name(), str(os.cpu_count())
    server.submit({"name": first, "command": "sleep 1000", "resources": {"cpu": cpus}})
    server.wait_for_state(first, "Running")
    with terminal(server, "run", "--no-package", "-it", "--cpu", cpus, "--name", name, "--", "sh") as at:
        at.see("Queued")
        at.type("\x03")
        assert at.wait() == 130
        assert f"cancelled job {name} before it started" in at.screen
    assert server.wait(name)["state"] == "Cancelled"
    server.run("kill", first, check=True)


def test_a_task_without_standard_input_says_what_to_do(server: MusterServer) -> None:
    name = new_name()
    server.submit({"name": name, "command": "sleep 1000"})
    server.wait_for_state(name, "Running")
    refused = server.run("attach", name)
    assert refused.returncode == 1
    assert "was started without standard input" in refused.stderr
    assert f"muster shell {name}" in refused.stderr
    server.run("kill", name, check=True)
    server.wait(name)
    assert f"job {name} has ended" in server.run("attach", name).stderr
    assert "--time-limit 2h" in server.run("run", "-t", "2h", "--", "true").stderr
    assert "there is no terminal here" in server.run("run", "-it", "--", "true").stderr


def test_a_job_outlives_the_client_the_agent_and_the_server(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as server:
        name = new_name()
        with terminal(server, "run", "--no-package", "-it", "--name", name, "--", "sh") as at:
            at.type("kept=$((20+3)); echo pid-$$-\n")
            at.see("pid-")
            at.see("pid-")
            server.kill()
            assert at.wait() == 1
            assert "the job goes on" in at.screen
            assert f"muster attach {name}" in at.screen
            assert at.is_restored
        server.start()
        server.wait_for_state(name, "Running")
        with terminal(server, "attach", name) as at:
            at.see("pid-")
            at.type("echo $kept-again\n")
            at.see("23-again")
            os.kill(agent_of(server), signal.SIGKILL)
            assert at.wait() == 1
            assert at.is_restored
        for _ in polls(60):
            if server.run("exec", name, "--", "true").returncode == 0:
                break
        with terminal(server, "attach", name) as at:
            at.see("23-again")
            at.type("echo $kept-once-more; exit 5\n")
            at.see("23-once-more")
            assert at.wait() == 5
        assert "23-once-more" in server.run("logs", name, check=True).stdout
        wait_until_no_holder_is_left(server)


def agent_of(server: MusterServer) -> int:
    for line in subprocess.run(
        ["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        pid, parent, words = line.split(maxsplit=2) if line.split()[0].isdigit() else ("0", "0", "")
        if int(parent) == server.pid and "muster.agent" in words:
            return int(pid)
    raise AssertionError("the server has no agent")


def wait_until_no_holder_is_left(server: MusterServer) -> None:
    for _ in polls(60):
        if not list(server.home.rglob("tasks/*/attach")):
            return
    raise AssertionError("the socket of a holder is still there")
