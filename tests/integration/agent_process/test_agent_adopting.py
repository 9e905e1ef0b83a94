"""The agent goes, tasks stay: what the next agent on the same root makes of them."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from muster.agent.system.processes import boot_id, read_stat

from .conftest import StartAgent
from .driver import DEADLINE_S, is_running, private_ports, read_pid, wait_until


def test_next_agent_adopts_running_tasks_and_reports_their_exit(start_agent: StartAgent) -> None:
    first = start_agent()
    first.shell("t", "while ! [ -e go ]; do sleep 0.02; done; echo done; exit 4")
    running = first.wait_phase("t", "running")
    first.kill()
    second = start_agent()
    adopted = second.status("t")
    assert {key: adopted[key] for key in ("phase", "pid", "started_at")} == {
        "phase": "running",
        "pid": running["pid"],
        "started_at": running["started_at"],
    }
    (second.root / "tasks/t/work/go").touch()
    assert second.wait_phase("t", "ended")["exit_code"] == 4
    assert second.log("t") == b"done\n"


def test_task_that_ended_while_no_agent_lived_is_listed_with_its_code(start_agent: StartAgent) -> None:
    first = start_agent()
    first.shell("t", "while ! [ -e go ]; do sleep 0.02; done; exit 6")
    pid = first.wait_phase("t", "running")["pid"]
    assert first.close() == 0
    (first.root / "tasks/t/work/go").touch()
    wait_until(lambda: not is_running(pid), "the supervisor to end")
    status = start_agent().status("t")
    assert (status["phase"], status["exit_code"]) == ("ended", 6)
    assert status["started_at"] < status["ended_at"]


def test_adopted_task_can_be_stopped(start_agent: StartAgent) -> None:
    first = start_agent()
    first.shell("t", "sleep 300")
    first.wait_phase("t", "running")
    first.kill()
    second = start_agent()
    second.ask("stop", task="t", grace_s=10)
    ended = second.wait_phase("t", "ended")
    assert (ended["signal"], ended["stopped"]) == (15, True)


def test_stop_begun_by_one_agent_is_carried_out_by_the_next(start_agent: StartAgent) -> None:
    first = start_agent()
    first.shell("t", "trap '' TERM; echo > ready; while :; do sleep 0.05; done")
    wait_until((first.root / "tasks/t/work/ready").exists, "the trap")
    first.ask("stop", task="t", grace_s=1)
    first.kill()
    second = start_agent()
    wait_until(lambda: second.status("t")["phase"] == "ended", "the end of the grace")
    ended = second.status("t")
    assert (ended["signal"], ended["stopped"]) == (9, True)


def test_killed_supervisor_ends_the_task_with_that_signal_and_its_processes_go(start_agent: StartAgent) -> None:
    agent = start_agent()
    agent.shell("t", "setsid sleep 300 & echo $! > child; wait")
    pid = agent.wait_phase("t", "running")["pid"]
    child = read_pid(agent.root / "tasks/t/work/child")
    os.kill(pid, signal.SIGKILL)
    ended = agent.wait_phase("t", "ended")
    assert (ended["signal"], ended["stopped"]) == (9, False)
    wait_until(lambda: not is_running(child), "its processes to be gone")


def test_supervisor_killed_while_no_agent_lived_is_lost_to_the_next(start_agent: StartAgent) -> None:
    first = start_agent()
    first.shell("t", "setsid sleep 300 & echo $! > child; wait")
    pid = first.wait_phase("t", "running")["pid"]
    child = read_pid(first.root / "tasks/t/work/child")
    first.kill()
    os.kill(pid, signal.SIGKILL)
    assert start_agent().status("t")["phase"] == "lost"
    wait_until(lambda: not is_running(child), "its processes to be gone")


def test_process_that_got_a_reused_pid_is_not_taken_for_ours(start_agent: StartAgent, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as stranger:
        stat = read_stat(stranger.pid)
        assert stat is not None
        _write_started(tmp_path, "other-start", f"{stranger.pid} {stat.start_ticks - 1} {boot_id()}\n")
        _write_started(tmp_path, "other-boot", f"{stranger.pid} {stat.start_ticks} 00000000-0000\n")
        agent = start_agent()
        phases = {status["task"]: status["phase"] for status in agent.ask("list")["tasks"]}
        assert phases == {"other-start": "lost", "other-boot": "lost"}
        agent.ask("stop", task="other-start", grace_s=0)
        # A straggler of a third task shows when the sweep for ended tasks has been.
        agent.shell("t", "setsid sleep 300 & echo $! > child")
        child = read_pid(agent.root / "tasks/t/work/child")
        wait_until(lambda: not is_running(child), "the sweep")
        assert is_running(stranger.pid)
        stranger.kill()


def test_half_a_record_is_no_record(start_agent: StartAgent, tmp_path: Path) -> None:
    _write_started(tmp_path, "t", "12 34")
    assert start_agent().status("t")["phase"] == "preparing"


def test_ports_of_adopted_tasks_stay_theirs(start_agent: StartAgent) -> None:
    few = private_ports(4)
    first = start_agent(None, "--ports", few)
    ports = first.ask("reserve_ports", owner="o", count=2)["ports"]
    first.shell("t", "sleep 300", ports=ports, port_owner="o")
    first.wait_phase("t", "running")
    first.kill()
    second = start_agent(None, "--ports", few)
    assert not set(second.ask("reserve_ports", owner="p", count=1)["ports"]) & set(ports)
    second.ask("stop", task="t", grace_s=0)


def test_second_agent_waits_for_the_first_to_leave(start_agent: StartAgent) -> None:
    first = start_agent()
    first.ask("ping")
    second = start_agent()
    number = second.send("ping")
    wait_until(lambda: _has_open(second.process.pid, second.root / "lock"), "the second agent to try the lock")
    assert second.process.poll() is None
    first.close()
    second.read_until(lambda: number in second._answers, "the second agent to answer")


@pytest.mark.slow
def test_agent_gives_up_clearly_when_the_root_stays_taken(start_agent: StartAgent) -> None:
    start_agent().ask("ping")
    second = start_agent()
    assert second.process.wait(DEADLINE_S) == 1


def _has_open(pid: int, path: Path) -> bool:
    return any(link.resolve() == path for link in Path(f"/proc/{pid}/fd").iterdir())


def _write_started(tmp_path: Path, task: str, line: str) -> None:
    folder = tmp_path / "root" / "tasks" / task
    folder.mkdir(parents=True)
    (folder / "task.json").write_text("{}")
    (folder / "started").write_text(line)
