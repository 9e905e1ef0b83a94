"""The life of isolated tasks: they outlive their agent, are found again by the next one, and leave nothing behind."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.agent_process.driver import Agent, is_running, wait_until
from tests.parts.passable import let_all_pass
from tests.security.isolation.scene import isolation, surroundings, system_python


@pytest.fixture(params=["user", "namespace"])
def mode(request: pytest.FixtureRequest) -> str:
    if os.getuid() != 0:
        pytest.skip("only root can start tasks under other accounts")
    return str(request.param)


def start(root: Path) -> Agent:
    let_all_pass(root.parent)
    return Agent([system_python(), "-m", "muster.agent"], root)


def test_an_isolated_task_outlives_its_agent_and_is_stopped_by_the_next(mode: str, tmp_path: Path) -> None:
    first = start(tmp_path / "node")
    first.shell(
        "t", "trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.05; done", isolation=isolation(mode, "bob")
    )
    pid = first.wait_phase("t", "running")["pid"]
    wait_until(lambda: b"up" in first.log("t"), "the task to be at work")
    first.close()
    assert is_running(pid)
    second = start(tmp_path / "node")
    assert second.status("t")["phase"] == "running"
    second.ask("stop", task="t", grace_s=60)
    ended = second.wait_phase("t", "ended")
    assert (ended["exit_code"], ended["stopped"]) == (0, True)
    assert second.log("t").endswith(b"saved\n")
    second.close()


def test_an_end_while_no_agent_watched_is_known_to_the_next(mode: str, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    gate.chmod(0o666)
    folders = [{"path": str(gate), "read_only": False}]
    first = start(tmp_path / "node")
    first.shell("t", f"cat {gate}; exit 7", isolation={**isolation(mode, "bob"), "folders": folders})
    pid = first.wait_phase("t", "running")["pid"]
    first.close()
    gate.write_text("go\n")
    wait_until(lambda: not is_running(pid), "the task to end")
    second = start(tmp_path / "node")
    assert _ended(second)["exit_code"] == 7
    second.close()


def test_a_program_below_the_shell_has_the_whole_grace(mode: str, tmp_path: Path) -> None:
    """The shell dies of the signal at once, and the program is still saving its work."""
    agent = start(tmp_path / "node")
    saving = "sh -c 'trap \"sleep 1; echo saved; exit 0\" TERM; echo up; while :; do sleep 0.05; done'"
    agent.shell("t", f"{saving} & wait", isolation=isolation(mode, "bob"))
    agent.wait_phase("t", "running")
    wait_until(lambda: b"up" in agent.log("t"), "the task to be at work")
    agent.ask("stop", task="t", grace_s=60)
    agent.wait_phase("t", "ended")
    assert agent.log("t").endswith(b"saved\n")
    agent.close()


def test_the_same_user_has_the_same_number_and_nobody_else_gets_it(tmp_path: Path, mode: str) -> None:
    first = start(tmp_path / "node")
    wished = {**isolation(mode, "bob"), "uid": 71_500}
    numbers = [first.ask("account", isolation={**wished, "owner": owner})["uid"] for owner in ("a", "b", "a")]
    first.close()
    second = start(tmp_path / "node")
    again = [second.ask("account", isolation={**wished, "owner": owner})["uid"] for owner in ("b", "a", "c")]
    second.close()
    assert numbers == [71_500, 71_501, 71_500]
    assert again == [71_501, 71_500, 71_502]


@pytest.mark.parametrize("argv", [("nowhere",), ("sh", "-c", "nowhere")])
def test_a_missing_program_is_not_found_although_a_folder_of_the_path_is_closed(
    mode: str, tmp_path: Path, argv: tuple[str, ...]
) -> None:
    let_all_pass(tmp_path)
    (tmp_path / "closed").mkdir(mode=0o700)
    path = f"{tmp_path}/closed/bin:{tmp_path}/closed:{os.environ['PATH']}:{tmp_path}/later"
    agent = Agent([system_python(), "-m", "muster.agent"], tmp_path / "node", {"PATH": path})
    ended = agent.run("t", *argv, isolation=isolation(mode, "bob"))
    agent.run("path", "sh", "-c", 'echo "$PATH"', isolation=isolation(mode, "bob"))
    agent.close()
    assert ended["exit_code"] == 127
    assert b"not found" in agent.log("t")
    assert b"denied" not in agent.log("t")
    assert (b"/closed" in agent.log("path"), b"/later" in agent.log("path")) == (mode == "namespace", True)


def test_python_is_found_although_that_of_an_environment_before_it_is_closed(mode: str, tmp_path: Path) -> None:
    """As with a server of root whose virtual environment was made by a Python below /root."""
    let_all_pass(tmp_path)
    (tmp_path / "closed").mkdir(mode=0o700)
    (tmp_path / "closed" / "python3").symlink_to(system_python())
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "python3").symlink_to(tmp_path / "closed" / "python3")
    path = f"{tmp_path}/venv:/usr/bin:/bin"
    agent = Agent([system_python(), "-m", "muster.agent"], tmp_path / "node", {"PATH": path})
    ended = agent.run("t", "sh", "-c", "python3 --version", isolation=isolation(mode, "bob"))
    agent.close()
    assert (ended["exit_code"], b"Python 3" in agent.log("t")) == (0, True)


def test_the_process_that_waits_for_the_next_task_may_die_and_ends_with_its_agent(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can start tasks under other accounts")
    agent = start(tmp_path / "node")
    assert _exit_code(agent, "first") == 0
    killed = _spare(agent)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: not is_running(killed), "the process to be gone, so that it cannot take the next order")
    assert _exit_code(agent, "second") == 0
    spare = _spare(agent)
    agent.launch("third", "/bin/sh", "-c", "exit 3", isolation=isolation("user", "bob"))
    assert agent.wait_phase("third", "ended")["exit_code"] == 3
    wait_until(lambda: not is_running(spare), "the process to have become the third task")
    last = _spare(agent)
    agent.close()
    wait_until(lambda: not is_running(last), "the process to end with its agent")


def test_the_process_that_waits_for_the_next_task_keeps_no_old_mounts(tmp_path: Path) -> None:
    """Below a closed folder it has a copy of the mounts ahead of time, of which nothing must be out of date."""
    if os.getuid() != 0:
        pytest.skip("only root can start tasks under other accounts")
    let_all_pass(tmp_path)
    (tmp_path / "closed").mkdir(mode=0o700)
    disk = tmp_path / "disk"
    disk.mkdir()
    command = (*surroundings(tmp_path, 1, 0), system_python(), "-m", "muster.agent")
    agent = Agent(command, tmp_path / "closed" / "node")
    assert _exit_code(agent, "first") == 0
    _wait_for_copy(agent, is_there=True)
    _in_mounts_of(agent, f"mount -t tmpfs -o mode=755 disk {disk} && echo data > {disk}/file")
    _wait_for_copy(agent, is_there=False)
    agent.run("reads", "cat", f"{disk}/file", isolation=isolation("user", "bob"))
    assert agent.log("reads") == b"data\n"
    _wait_for_copy(agent, is_there=True)
    _in_mounts_of(agent, f"umount {disk}")
    _wait_for_copy(agent, is_there=False)
    agent.run("looks", "ls", str(disk), isolation=isolation("user", "bob"))
    assert agent.log("looks") == b""
    agent.close()


def _wait_for_copy(agent: Agent, *, is_there: bool) -> None:
    spare, own = (Path(f"/proc/{pid}/ns/mnt") for pid in (_spare(agent), agent.process.pid))
    wait_until(
        lambda: (spare.readlink() != own.readlink()) is is_there,
        "the process that waits to have its own mounts" if is_there else "its own mounts to be given up",
    )


def _in_mounts_of(agent: Agent, script: str) -> None:
    subprocess.run(["nsenter", "-t", str(agent.process.pid), "-m", "sh", "-c", script], check=True, timeout=60)


def _exit_code(agent: Agent, task: str) -> Any:
    return agent.run(task, "/bin/true", isolation=isolation("user", "bob"))["exit_code"]


def _spare(agent: Agent) -> int:
    """The only child that the agent's shim has while no task runs."""
    [shim] = _children(agent.process.pid)
    wait_until(lambda: _children(shim), "a process that waits for the next task")
    return _children(shim)[0]


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _ended(agent: Agent) -> Any:
    wait_until(lambda: agent.status("t")["phase"] == "ended", "the agent to know the end")
    return agent.status("t")


def test_an_agent_says_what_its_machine_cannot_enforce(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can hide the control groups from an agent")
    agent = Agent([*surroundings(tmp_path, 0, 0), system_python(), "-m", "muster.agent"], tmp_path / "node")
    can = agent.ask("hello")["isolation"]
    agent.close()
    assert (can["groups"], can["devices"]) == ("no control groups are mounted on this machine",) * 2
