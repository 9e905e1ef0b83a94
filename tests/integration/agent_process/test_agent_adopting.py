"""The agent goes, tasks stay: what the next agent on the same root makes of them."""

import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from muster.agent.system.processes import boot_id, read_stat
from muster.agent.tasks.records import read_started

from .conftest import StartAgent
from .driver import DEADLINE_S, Agent, is_running, private_ports, read_pid, wait_until


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
    wait_until(lambda: not is_running(pid), "the command to end")
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


# A shell that dies of the stop at once, and below it a program that saves when it may.
SAVES = """
trap 'until [ -e go ]; do sleep 0.02; done; touch saved; exit' TERM
touch ready
while :; do sleep 0.02; done
"""


def test_program_under_a_shell_may_save_when_an_adopted_task_is_stopped(start_agent: StartAgent) -> None:
    first = start_agent()
    _start_saver(first)
    shell = first.wait_phase("t", "running")["pid"]
    first.kill()
    second = start_agent()
    second.ask("stop", task="t", grace_s=1000)
    wait_until(lambda: not is_running(shell), "the shell to die")
    _let_it_save(second)


def test_program_under_a_shell_may_save_when_agent_and_shim_have_left(start_agent: StartAgent) -> None:
    first = start_agent()
    _start_saver(first)
    record = read_started(str(first.root / "tasks/t"))
    assert record is not None
    assert record.shim is not None
    shim = record.shim.pid
    first.ask("stop", task="t", grace_s=1000)
    first.kill()
    wait_until(lambda: not is_running(shim), "the shim to leave")
    _let_it_save(start_agent())


def _start_saver(agent: Agent) -> None:
    agent.shell("t", f"sh -c {shlex.quote(SAVES)} & wait")
    wait_until((agent.root / "tasks/t/work/ready").exists, "the trap")


def _let_it_save(agent: Agent) -> None:
    assert agent.status("t")["phase"] == "running"
    (agent.root / "tasks/t/work/go").touch()
    ended = agent.wait_phase("t", "ended")
    assert ended["stopped"]
    assert (agent.root / "tasks/t/work/saved").exists(), "killed before it could save"


def test_killed_command_ends_the_task_with_that_signal_and_its_processes_go(start_agent: StartAgent) -> None:
    agent = start_agent()
    agent.shell("t", "setsid sleep 300 & echo $! > child; wait")
    pid = agent.wait_phase("t", "running")["pid"]
    child = read_pid(agent.root / "tasks/t/work/child")
    os.kill(pid, signal.SIGKILL)
    ended = agent.wait_phase("t", "ended")
    assert (ended["signal"], ended["stopped"]) == (9, False)
    wait_until(lambda: not is_running(child), "its processes to be gone")


def test_command_killed_while_no_agent_lived_has_ended_with_that_signal(start_agent: StartAgent) -> None:
    first = start_agent()
    first.shell("t", "setsid sleep 300 & echo $! > child; wait")
    pid = first.wait_phase("t", "running")["pid"]
    child = read_pid(first.root / "tasks/t/work/child")
    first.kill()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: read_stat(pid) is None, "the shim to record it")
    status = start_agent().status("t")
    assert (status["phase"], status["signal"]) == ("ended", 9)
    wait_until(lambda: not is_running(child), "its processes to be gone")


def test_task_whose_shim_was_killed_while_no_agent_lived_is_lost_to_the_next(start_agent: StartAgent) -> None:
    first = start_agent()
    first.shell("t", "setsid sleep 300 & echo $! > child; wait")
    pid = first.wait_phase("t", "running")["pid"]
    child = read_pid(first.root / "tasks/t/work/child")
    first.kill()
    os.kill(_shim_of(first.root, "t"), signal.SIGKILL)
    assert start_agent().status("t")["phase"] == "lost"
    wait_until(lambda: not is_running(child) and not is_running(pid), "its processes to be gone")


def test_task_whose_shim_is_killed_under_the_next_agent_is_lost(start_agent: StartAgent) -> None:
    first = start_agent()
    first.shell("t", "sleep 300")
    pid = first.wait_phase("t", "running")["pid"]
    first.kill()
    second = start_agent()
    assert second.status("t")["phase"] == "running"
    os.kill(_shim_of(first.root, "t"), signal.SIGKILL)
    second.wait_phase("t", "lost")
    wait_until(lambda: not is_running(pid), "its processes to be gone")


def test_shim_leaves_with_its_agent_when_there_is_nothing_to_wait_for(start_agent: StartAgent) -> None:
    agent = start_agent()
    agent.run("t", "/bin/true")
    shim = _shim_of(agent.root, "t")
    assert agent.close() == 0
    wait_until(lambda: not is_running(shim), "the shim to leave")


# What a supervisor of an agent before shims left: it is the task's session leader and records the exit itself.
SUPERVISOR = """
read -r stat < /proc/$$/stat
start_of() { shift 19; start=$1; }
start_of ${stat##*") "}
echo "$$ $start $2" > "$1/started"
( exec /bin/sh -c "while ! [ -e $1/go ]; do sleep 0.02; done; exit 4" )
code=$?
echo "$code" > "$1/exit"
exit "$code"
"""


@pytest.mark.parametrize("is_stopped", [False, True])
def test_task_that_an_agent_before_shims_started_is_adopted(
    start_agent: StartAgent, tmp_path: Path, is_stopped: bool
) -> None:
    folder = tmp_path / "root" / "tasks" / "t"
    folder.mkdir(parents=True)
    (folder / "task.json").write_text("{}")
    command = ["/bin/sh", "-c", f"trap : TERM; {SUPERVISOR}", "muster-task", str(folder), boot_id()]
    with subprocess.Popen(command, start_new_session=True, env={**os.environ, "MUSTER_TASK_DIR": str(folder)}):
        wait_until(lambda: read_started(str(folder)) is not None, "the supervisor to claim")
        agent = start_agent()
        assert agent.status("t")["phase"] == "running"
        if is_stopped:
            agent.ask("stop", task="t", grace_s=0)
        else:
            (folder / "go").touch()
        ended = agent.wait_phase("t", "ended")
    assert (ended["exit_code"], ended["stopped"]) == ((137, True) if is_stopped else (4, False))


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


def _shim_of(root: Path, task: str) -> int:
    record = read_started(str(root / "tasks" / task))
    assert record is not None
    assert record.shim is not None
    return record.shim.pid


def _has_open(pid: int, path: Path) -> bool:
    return any(link.resolve() == path for link in Path(f"/proc/{pid}/fd").iterdir())


def _write_started(tmp_path: Path, task: str, line: str) -> None:
    folder = tmp_path / "root" / "tasks" / task
    folder.mkdir(parents=True)
    (folder / "task.json").write_text("{}")
    (folder / "started").write_text(line)
