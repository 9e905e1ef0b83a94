"""Commands that somebody runs in a running task, through its agent."""

import base64
import os
import signal
from pathlib import Path

import pytest

from muster.agent.system.frames import Message

from .conftest import StartAgent
from .driver import Agent, Refused, is_running, read_pid, wait_until

_TERMINAL = {"rows": 33, "columns": 101, "kind": "xterm"}


def start(agent: Agent, task: str, *argv: str, terminal: dict[str, object] | None = None) -> str:
    name: str = agent.ask("exec_in_task", task=task, argv=list(argv), terminal=terminal)["exec"]
    return name


def rest(agent: Agent, name: str) -> tuple[dict[str, bytes], Message]:
    """What it prints to its end, by stream, and the last answer."""
    said = {"stdout": b"", "stderr": b""}
    while True:
        answer = agent.ask("exec_read", exec=name)
        for piece in answer["output"]:
            said[piece["stream"]] += base64.b64decode(piece["data"])
        if answer["ended"]:
            return said, answer


def until(agent: Agent, name: str, wanted: bytes) -> bytes:
    said = b""
    while wanted not in said:
        answer = agent.ask("exec_read", exec=name)
        said += b"".join(base64.b64decode(piece["data"]) for piece in answer["output"])
        assert not answer["ended"], said
    return said


def running(agent: Agent, task: str = "t1", script: str = "sleep 300", **fields: object) -> None:
    agent.shell(task, script, **fields)
    agent.wait_phase(task, "running")


def long(agent: Agent, tmp_path: Path, script: str = "exec sleep 300", name: str = "pid") -> str:
    said = f"echo $$ > {tmp_path}/{name}.new; mv {tmp_path}/{name}.new {tmp_path}/{name}"
    return start(agent, "t1", "/bin/sh", "-c", f"{said}; {script}")


def test_a_command_has_the_variables_and_the_folder_of_its_task(agent: Agent) -> None:
    running(agent, env={"CUDA_VISIBLE_DEVICES": "3", "OF_THE_TASK": "two\nlines"})
    said, end = rest(agent, start(agent, "t1", "/bin/sh", "-c", 'pwd; echo "$CUDA_VISIBLE_DEVICES $OF_THE_TASK"'))
    assert said["stdout"].decode() == f"{agent.root}/tasks/t1/work\n3 two\nlines\n"
    assert (said["stderr"], end["exit_code"]) == (b"", 0)


def test_both_streams_and_the_code_come_back(agent: Agent) -> None:
    running(agent)
    said, end = rest(agent, start(agent, "t1", "/bin/sh", "-c", "echo out; echo err >&2; exit 7"))
    assert said == {"stdout": b"out\n", "stderr": b"err\n"}
    assert end["exit_code"] == 7


def test_input_of_any_length_comes_through_and_ends(agent: Agent) -> None:
    running(agent)
    name = start(agent, "t1", "cat")
    data, said = os.urandom(3_000_000), b""
    pieces = [data[at : at + 500_000] for at in range(0, len(data), 500_000)]
    sent = agent.send("exec_write", exec=name, data=pieces.pop(0), last=not pieces)
    while True:
        answer = agent.ask("exec_read", exec=name)
        said += b"".join(base64.b64decode(piece["data"]) for piece in answer["output"])
        if answer["ended"]:
            break
        if agent.has_answer(sent) and pieces:
            agent.answer(sent)
            sent = agent.send("exec_write", exec=name, data=pieces.pop(0), last=not pieces)
    assert said == data


def test_input_for_a_command_that_has_closed_it_is_dropped(agent: Agent) -> None:
    running(agent)
    name = start(agent, "t1", "/bin/sh", "-c", "exec <&-; echo closed; exec sleep 300")
    until(agent, name, b"closed")
    agent.ask("exec_write", exec=name, data=b"x" * 500_000, last=False)
    agent.ask("exec_stop", exec=name)


def test_a_program_that_is_not_there_is_said_so(agent: Agent) -> None:
    running(agent)
    said, end = rest(agent, start(agent, "t1", "no-such-program"))
    assert b"no-such-program" in said["stderr"]
    assert end["exit_code"] == 127


def test_a_task_that_does_not_run_is_refused(agent: Agent) -> None:
    agent.run("t1", "true")
    with pytest.raises(Refused, match="not running") as caught:
        start(agent, "t1", "true")
    assert caught.value.code == "not-running"


def test_a_terminal_has_its_size_its_colours_and_its_signals(agent: Agent) -> None:
    running(agent)
    name = start(agent, "t1", "/bin/sh", "-i", terminal=_TERMINAL)
    agent.ask("exec_write", exec=name, data=b"stty size; tty; echo $TERM; echo x-$((1+1))\n", last=False)
    said = until(agent, name, b"x-2").decode()
    assert "33 101" in said
    assert "/dev/pts/" in said
    assert "xterm" in said
    agent.ask("exec_resize", exec=name, rows=40, columns=120)
    agent.ask("exec_write", exec=name, data=b"stty size; exit 5\n", last=False)
    printed, end = rest(agent, name)
    assert b"40 120" in printed["stdout"]
    assert end["exit_code"] == 5


def test_control_c_at_a_terminal_interrupts(agent: Agent) -> None:
    running(agent)
    script = "trap 'echo interrupted; exit 9' INT; echo ready; while :; do sleep 0.1; done"
    name = start(agent, "t1", "/bin/sh", "-c", script, terminal=_TERMINAL)
    until(agent, name, b"ready")
    agent.ask("exec_write", exec=name, data=b"\x03", last=False)
    said, end = rest(agent, name)
    assert b"interrupted" in said["stdout"]
    assert end["exit_code"] == 9


def test_the_end_of_input_ends_a_shell_at_a_terminal(agent: Agent) -> None:
    running(agent)
    name = start(agent, "t1", "/bin/sh", "-i", terminal=_TERMINAL)
    agent.ask("exec_write", exec=name, data=b"", last=True)
    assert rest(agent, name)[1]["exit_code"] == 0


@pytest.mark.parametrize("escape", ["", "setsid "])
def test_a_stopped_command_is_gone_with_all_that_it_started(escape: str, agent: Agent, tmp_path: Path) -> None:
    running(agent)
    inner = f"echo $$ > {tmp_path}/inner.new; mv {tmp_path}/inner.new {tmp_path}/inner; exec sleep 300"
    name = long(agent, tmp_path, f"{escape}sh -c '{inner}' & wait; exec sleep 300")
    pids = [read_pid(tmp_path / "pid"), read_pid(tmp_path / "inner")]
    agent.ask("exec_stop", exec=name)
    wait_until(lambda: not any(map(is_running, pids)), "the command to be gone")
    assert agent.status("t1")["phase"] == "running"


def test_what_a_command_leaves_behind_ends_with_it(agent: Agent, tmp_path: Path) -> None:
    running(agent)
    inner = f"echo $$ > {tmp_path}/inner.new; mv {tmp_path}/inner.new {tmp_path}/inner; exec sleep 300"
    wait = f"while [ ! -e {tmp_path}/inner ]; do sleep 0.1; done"
    _, end = rest(agent, start(agent, "t1", "sh", "-c", f"setsid sh -c '{inner}' >/dev/null 2>&1 & {wait}"))
    assert end["exit_code"] == 0
    pid = read_pid(tmp_path / "inner")
    wait_until(lambda: not is_running(pid), "what it started to be gone")


def test_commands_end_with_their_task(agent: Agent, tmp_path: Path) -> None:
    running(agent)
    name = long(agent, tmp_path)
    pid = read_pid(tmp_path / "pid")
    agent.ask("stop", task="t1", grace_s=100)
    agent.wait_phase("t1", "ended")
    _, end = rest(agent, name)
    assert (end["exit_code"], end["task_ended"]) == (128 + signal.SIGKILL, True)
    wait_until(lambda: not is_running(pid), "the command to be gone")


def test_commands_end_with_the_line_to_the_server(agent: Agent, tmp_path: Path) -> None:
    running(agent)
    long(agent, tmp_path)
    pid = read_pid(tmp_path / "pid")
    assert agent.close() == 0
    wait_until(lambda: not is_running(pid), "the command to be gone")


def test_commands_end_with_an_agent_that_is_killed(start_agent: StartAgent, tmp_path: Path) -> None:
    agent = start_agent()
    running(agent)
    long(agent, tmp_path)
    pid = read_pid(tmp_path / "pid")
    agent.kill()
    wait_until(lambda: not is_running(pid), "the command to be gone")
