"""Stopping: gently, by force, before the start, and whatever a task hid from us."""

import time
from pathlib import Path

import pytest

from .conftest import StartAgent
from .driver import Agent, is_running, read_pid, wait_until

# A process in a session of its own that no longer descends from the task.
ESCAPE = "setsid sh -c 'echo $$ > escaped; exec sleep 300' </dev/null >/dev/null 2>&1 & "


def escaped(agent: Agent, task: str) -> int:
    return read_pid(agent.root / "tasks" / task / "work" / "escaped")


def test_stop_terminates_the_whole_group_and_the_exit_is_recorded(agent: Agent) -> None:
    agent.shell("t", "sleep 300 & echo $! > child; wait")
    agent.wait_phase("t", "running")
    child = read_pid(agent.root / "tasks/t/work/child")
    assert agent.ask("stop", task="t", grace_s=30)["phase"] == "running"
    ended = agent.wait_phase("t", "ended")
    assert (ended["exit_code"], ended["signal"], ended["stopped"]) == (143, 15, True)
    wait_until(lambda: not is_running(child), "the child to be gone")


def test_task_that_ignores_term_is_killed_after_the_grace_and_the_shim_records_it(agent: Agent) -> None:
    agent.shell("t", "trap '' TERM; echo > ready; while :; do sleep 0.05; done")
    wait_until((agent.root / "tasks/t/work/ready").exists, "the trap")
    began = time.monotonic()
    agent.ask("stop", task="t", grace_s=0.5)
    ended = agent.wait_phase("t", "ended")
    assert time.monotonic() - began >= 0.5
    assert (ended["exit_code"], ended["signal"], ended["stopped"]) == (137, 9, True)
    assert (agent.root / "tasks/t/exit").read_text() == "137\n"


def test_second_stop_with_less_grace_shortens_the_first(agent: Agent) -> None:
    agent.shell("t", "trap '' TERM; echo > ready; while :; do sleep 0.05; done")
    wait_until((agent.root / "tasks/t/work/ready").exists, "the trap")
    agent.ask("stop", task="t", grace_s=1000)
    agent.ask("stop", task="t", grace_s=2000)
    agent.ask("stop", task="t", grace_s=0.1)
    assert agent.wait_phase("t", "ended")["signal"] == 9


def test_stop_right_after_launch_leaves_nothing_running(agent: Agent) -> None:
    for number in range(20):
        agent.send("launch", task=f"t{number}", argv=["/bin/sh", "-c", "exec sleep 300"], env={})
        agent.send("stop", task=f"t{number}", grace_s=5)
    for number in range(20):
        assert agent.wait_phase(f"t{number}", "ended")["stopped"]


def test_stop_before_the_claim_means_it_never_starts(start_agent: StartAgent, tmp_path: Path) -> None:
    """An unclaimed folder, as an agent leaves it that dies between writing the folder and ordering the start."""
    folder = tmp_path / "root" / "tasks" / "t"
    folder.mkdir(parents=True)
    (folder / "task.json").write_text('{"ports": []}')
    agent = start_agent()
    assert agent.status("t")["phase"] == "preparing"
    answer = agent.ask("stop", task="t", grace_s=1)
    assert answer["phase"] == "ended"
    assert (answer["status"]["exit_code"], answer["status"]["stopped"]) == (None, True)
    assert agent.shell("t", f"touch {tmp_path}/ran")["phase"] == "ended"
    assert (folder / "started").read_text() == "stopped\n"
    assert not (tmp_path / "ran").exists()


def test_folder_that_was_never_claimed_is_started_by_the_next_launch(start_agent: StartAgent, tmp_path: Path) -> None:
    folder = tmp_path / "root" / "tasks" / "t"
    folder.mkdir(parents=True)
    (folder / "task.json").write_text('{"ports": [20999]}')
    agent = start_agent()
    assert agent.status("t")["phase"] == "preparing"
    assert agent.run("t", "/bin/true", ports=[20999])["exit_code"] == 0


def test_stop_of_an_unknown_task_is_fine(agent: Agent) -> None:
    assert agent.ask("stop", task="never-seen", grace_s=1)["phase"] == "unknown"


def test_stop_of_an_ended_task_changes_nothing(agent: Agent) -> None:
    before = agent.run("t", "/bin/true")
    assert agent.ask("stop", task="t", grace_s=0)["status"] == before


def test_process_that_left_the_session_is_killed_by_stop(agent: Agent) -> None:
    agent.shell("t", ESCAPE + "trap '' TERM; while :; do sleep 0.05; done")
    pid = escaped(agent, "t")
    agent.ask("stop", task="t", grace_s=0.2)
    agent.wait_phase("t", "ended")
    wait_until(lambda: not is_running(pid), "the escaped process to be gone")


def test_task_of_the_same_name_under_another_root_is_left_alone(start_agent: StartAgent, tmp_path: Path) -> None:
    mine, theirs = start_agent(), start_agent(tmp_path / "another")
    theirs.shell("t", "sleep 300")
    pid = theirs.wait_phase("t", "running")["pid"]
    mine.shell("t", ESCAPE + "while ! [ -s escaped ]; do sleep 0.01; done")
    gone = escaped(mine, "t")
    wait_until(lambda: not is_running(gone), "the sweep")
    assert is_running(pid)
    assert theirs.status("t")["phase"] == "running"


@pytest.mark.parametrize("tasks", [1, 5])
def test_process_that_left_the_session_is_killed_at_the_end(agent: Agent, tasks: int) -> None:
    for number in range(tasks):
        agent.shell(f"t{number}", ESCAPE + "while ! [ -s escaped ]; do sleep 0.01; done")
    pids = [escaped(agent, f"t{number}") for number in range(tasks)]
    for number in range(tasks):
        assert agent.wait_phase(f"t{number}", "ended")["exit_code"] == 0
    for pid in pids:
        wait_until(lambda pid=pid: not is_running(pid), "the escaped process to be gone")  # type: ignore[misc]


def test_process_left_in_the_group_is_killed_at_the_end_but_not_one_of_another_task(agent: Agent) -> None:
    agent.shell("other", "sleep 300")
    other = agent.wait_phase("other", "running")["pid"]
    agent.shell("t", "sleep 300 & echo $! > child")
    agent.wait_phase("t", "ended")
    child = read_pid(agent.root / "tasks/t/work/child")
    wait_until(lambda: not is_running(child), "the child to be gone")
    assert is_running(other)
