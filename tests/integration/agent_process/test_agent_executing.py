"""Commands that an admin runs on a node through its agent."""

import base64
import os
import pwd
import signal
from pathlib import Path

import pytest

from .conftest import StartAgent
from .driver import Agent, Refused, is_running, read_pid, wait_until


def finished(agent: Agent, *argv: str, timeout_s: float = 60) -> tuple[dict[str, bytes], dict[str, object]]:
    """What it printed, by stream, and the last answer."""
    name = agent.ask("exec_start", argv=list(argv), timeout_s=timeout_s)["exec"]
    said = {"stdout": b"", "stderr": b""}
    while True:
        answer = agent.ask("exec_read", exec=name)
        for piece in answer["output"]:
            said[piece["stream"]] += base64.b64decode(piece["data"])
        if answer["ended"]:
            return said, answer


def test_both_streams_and_the_code_come_back(agent: Agent) -> None:
    said, end = finished(agent, "/bin/sh", "-c", "echo out; echo err >&2; exit 7")
    assert said == {"stdout": b"out\n", "stderr": b"err\n"}
    assert (end["exit_code"], end["timed_out"]) == (7, False)


def test_a_command_has_a_clean_environment_its_home_and_no_input(start_agent: StartAgent) -> None:
    agent = start_agent(None, SECRET_OF_AGENT="x")
    said, _ = finished(agent, "/bin/sh", "-c", "pwd; cat; env")
    home, *env = said["stdout"].decode().splitlines()
    assert home == os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
    assert f"HOME={pwd.getpwuid(os.getuid()).pw_dir}" in env
    assert not [line for line in env if line.startswith(("SECRET_OF_AGENT", "PYTHONPATH"))]


def test_words_are_no_shell_script(agent: Agent) -> None:
    said, _ = finished(agent, "echo", "$HOME; echo two", "`id`")
    assert said["stdout"] == b"$HOME; echo two `id`\n"


def test_output_of_any_length_comes_whole(agent: Agent) -> None:
    said, _ = finished(agent, "head", "-c", "3000000", "/dev/zero")
    assert len(said["stdout"]) == 3_000_000


def test_a_program_that_is_not_there_is_said_so(agent: Agent) -> None:
    with pytest.raises(Refused, match="cannot run no-such-program: No such file") as caught:
        agent.ask("exec_start", argv=["no-such-program"], timeout_s=5)
    assert caught.value.code == "start-failed"


def test_a_command_that_takes_too_long_is_ended(agent: Agent) -> None:
    _, end = finished(agent, "sleep", "300", timeout_s=0.05)
    assert (end["exit_code"], end["timed_out"]) == (128 + signal.SIGKILL, True)


def test_what_a_command_leaves_behind_ends_with_it(agent: Agent, tmp_path: Path) -> None:
    finished(agent, "/bin/sh", "-c", f"sleep 300 & echo $! > {tmp_path}/child")
    child = read_pid(tmp_path / "child")
    wait_until(lambda: not is_running(child), "the child to be gone")


def test_a_stopped_command_is_gone(agent: Agent, tmp_path: Path) -> None:
    name = _long(agent, tmp_path)
    pid = read_pid(tmp_path / "pid")
    agent.ask("exec_stop", exec=name)
    wait_until(lambda: not is_running(pid), "the command to be gone")
    agent.ask("exec_stop", exec=name)


@pytest.mark.parametrize("last", ["true", "sleep 300"])
def test_what_left_the_session_of_a_command_ends_with_it(last: str, agent: Agent, tmp_path: Path) -> None:
    script = f"setsid sh -c 'echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; sleep 300' >/dev/null 2>&1 &"
    wait = f"while [ ! -e {tmp_path}/pid ]; do sleep 0.1; done"
    name = agent.ask("exec_start", argv=["/bin/sh", "-c", f"{script} {wait}; {last}"], timeout_s=300)["exec"]
    pid = read_pid(tmp_path / "pid")
    if last != "true":
        agent.ask("exec_stop", exec=name)
    wait_until(lambda: not is_running(pid), "what it started to be gone")


def test_commands_end_with_the_line_to_the_server(agent: Agent, tmp_path: Path) -> None:
    _long(agent, tmp_path)
    pid = read_pid(tmp_path / "pid")
    assert agent.close() == 0
    wait_until(lambda: not is_running(pid), "the command to be gone")


def test_commands_of_a_killed_agent_are_ended_by_the_next(start_agent: StartAgent, tmp_path: Path) -> None:
    first = start_agent()
    _long(first, tmp_path)
    pid = read_pid(tmp_path / "pid")
    first.kill()
    start_agent().ask("ping")
    wait_until(lambda: not is_running(pid), "the command to be gone")


def _long(agent: Agent, tmp_path: Path) -> str:
    script = f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; sleep 300"
    name: str = agent.ask("exec_start", argv=["/bin/sh", "-c", script], timeout_s=60)["exec"]
    return name
