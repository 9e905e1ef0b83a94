"""An agent that hangs and keeps its root: the next one may take it, and the tasks do not notice."""

import os
import signal
import subprocess
from pathlib import Path

from muster.agent.system.processes import boot_id, read_stat

from .conftest import StartAgent
from .driver import DEADLINE_S, wait_until


def test_a_frozen_agent_is_ended_and_its_tasks_are_adopted(start_agent: StartAgent) -> None:
    first = start_agent()
    first.shell("t", "echo begun >> ../../../runs; while ! [ -e go ]; do sleep 0.02; done; exit 4")
    running = first.wait_phase("t", "running")
    os.kill(first.process.pid, signal.SIGSTOP)
    second = start_agent(None, "--take-over")
    adopted = second.status("t")
    assert first.process.wait(DEADLINE_S) == -signal.SIGKILL
    assert (adopted["phase"], adopted["pid"]) == ("running", running["pid"])
    (second.root / "tasks/t/work/go").touch()
    assert second.wait_phase("t", "ended")["exit_code"] == 4
    assert (second.root / "runs").read_text() == "begun\n"


def test_a_task_launched_on_both_sides_of_a_take_over_runs_once(start_agent: StartAgent) -> None:
    first = start_agent()
    script = "echo begun >> ../../../runs; while ! [ -e go ]; do sleep 0.02; done"
    first.send("launch", task="t", argv=["/bin/sh", "-c", script], env={}, ports=[], files={}, devices=[])
    os.kill(first.process.pid, signal.SIGSTOP)
    second = start_agent(None, "--take-over")
    second.shell("t", script)
    wait_until((second.root / "runs").exists, "the task to begin")
    (second.root / "tasks/t/work/go").touch()
    wait_until(lambda: second.status("t")["phase"] == "ended", "the end")
    assert (second.root / "runs").read_text() == "begun\n"


def test_an_agent_that_only_waits_is_asked_to_leave(start_agent: StartAgent) -> None:
    first = start_agent()
    first.ask("ping")
    start_agent(None, "--take-over").ask("ping")
    assert first.process.wait(DEADLINE_S) == -signal.SIGTERM


def test_without_being_told_to_an_agent_ends_no_other(start_agent: StartAgent) -> None:
    first = start_agent()
    first.ask("ping")
    second = start_agent()
    number = second.send("ping")
    third = start_agent(None, "--take-over")
    third.ask("ping")
    assert first.process.wait(DEADLINE_S) == -signal.SIGTERM
    assert number not in second._answers
    third.close()
    second.read_until(lambda: number in second._answers, "the patient one to answer")


def test_a_process_that_got_the_number_of_the_holder_is_left_alone(start_agent: StartAgent, tmp_path: Path) -> None:
    first = start_agent()
    first.ask("ping")
    with subprocess.Popen(["sleep", "300"]) as stranger:
        stat = read_stat(stranger.pid)
        assert stat is not None
        named = f"{stranger.pid} {stat.start_ticks - 1} {boot_id()}\n"
        (tmp_path / "root" / "lock").write_text(named)
        second = start_agent(None, "--take-over")
        number = second.send("ping")
        first.kill()
        second.read_until(lambda: number in second._answers, "the second agent to answer")
        assert stranger.poll() is None
        stranger.kill()
