"""The prolog and the epilog around a task: when they run, how often, and what reaches them."""

import os
import signal
from pathlib import Path
from typing import Any

from .conftest import StartAgent
from .driver import Agent, is_running, wait_until


def scripts(folder: Path, prolog: str = "exit 0", epilog: str = "exit 0", timeout_s: float = 60.0) -> dict[str, Any]:
    """Both note that they ran, in a file that a test may count, before they do what it says."""

    def noting(name: str, script: str) -> dict[str, Any]:
        return {"argv": ["/bin/sh", "-c", f"echo {name} >>{folder}/ran; {script}"], "timeout_s": timeout_s}

    variables = {"MUSTER_OWNER": "bob", "MUSTER_TASK_ID": "t", "MUSTER_GPUS": "0,1"}
    return {"prolog": noting("prolog", prolog), "epilog": noting("epilog", epilog), "variables": variables}


def ran(folder: Path) -> list[str]:
    path = folder / "ran"
    return path.read_text().split() if path.exists() else []


def test_prolog_runs_before_the_command_and_epilog_before_its_end_is_told(agent: Agent, tmp_path: Path) -> None:
    agent.shell("t", f"echo task >>{tmp_path}/ran; exit 3", scripts=scripts(tmp_path, epilog=f"cat {tmp_path}/ran"))
    ended = agent.wait_phase("t", "ended")
    assert ran(tmp_path) == ["prolog", "task", "epilog"]
    assert (ended["exit_code"], ended["node_problem"]) == (3, "")


def test_the_output_of_a_prolog_is_at_the_head_of_the_log(agent: Agent, tmp_path: Path) -> None:
    talking = scripts(tmp_path, prolog="echo GPU 0 was reset; echo slow disk >&2", epilog="echo unseen")
    agent.shell("t", "echo hello", scripts=talking)
    agent.wait_phase("t", "ended")
    assert agent.log("t") == b"prolog: GPU 0 was reset\nprolog: slow disk\nhello\n"


def test_failed_prolog_keeps_the_task_from_starting(agent: Agent, tmp_path: Path) -> None:
    failing = scripts(tmp_path, prolog="echo checking; echo GPU 3 has fallen off the bus >&2; exit 1")
    agent.shell("t", f"echo task >>{tmp_path}/ran", scripts=failing)
    ended = agent.wait_phase("t", "ended")
    assert ended["error"] == {"code": "prolog", "message": "GPU 3 has fallen off the bus"}
    assert ran(tmp_path) == ["prolog", "epilog"]
    agent.shell("slow", "true", scripts=scripts(tmp_path, prolog="sleep 600", timeout_s=0.2))
    assert "did not end within 0.2 s" in agent.wait_phase("slow", "ended")["error"]["message"]


def test_failed_epilog_is_told_with_the_end_and_remembered(start_agent: StartAgent, tmp_path: Path) -> None:
    first = start_agent()
    first.shell("t", "true", scripts=scripts(tmp_path, epilog="echo a process holds GPU 0; exit 1"))
    ended = first.wait_phase("t", "ended")
    assert (ended["exit_code"], ended["node_problem"]) == (0, "epilog: a process holds GPU 0")
    first.kill()
    assert start_agent().status("t")["node_problem"] == "epilog: a process holds GPU 0"
    assert ran(tmp_path) == ["prolog", "epilog"], "it has run, and does not run again"


def test_stopping_during_the_prolog_runs_the_epilog_after_it(agent: Agent, tmp_path: Path) -> None:
    waiting = f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo over >>{tmp_path}/ran"
    agent.shell("t", f"echo task >>{tmp_path}/ran", scripts=scripts(tmp_path, prolog=waiting))
    wait_until(lambda: ran(tmp_path) == ["prolog"], "the prolog to start")
    agent.ask("stop", task="t", grace_s=0)
    assert agent.status("t")["phase"] == "preparing"
    (tmp_path / "go").touch()
    assert agent.wait_phase("t", "ended")["stopped"]
    assert ran(tmp_path) == ["prolog", "over", "epilog"]


def test_epilog_runs_for_a_task_that_ended_while_there_was_no_agent(start_agent: StartAgent, tmp_path: Path) -> None:
    first = start_agent()
    first.shell("t", f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done", scripts=scripts(tmp_path))
    pid = first.wait_phase("t", "running")["pid"]
    first.kill()
    (tmp_path / "go").touch()
    wait_until(lambda: not is_running(pid), "the task to end")
    second = start_agent()
    wait_until(lambda: second.status("t")["phase"] == "ended", "the end to be told")
    assert ran(tmp_path) == ["prolog", "epilog"]


def test_epilog_that_was_cut_short_is_ended_and_runs_again(start_agent: StartAgent, tmp_path: Path) -> None:
    hanging = f"[ -e {tmp_path}/again ] && exit 0; echo $$ >{tmp_path}/pid; while :; do sleep 0.05; done"
    first = start_agent()
    first.shell("t", "true", scripts=scripts(tmp_path, epilog=hanging))
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "the epilog to start")
    first.kill()
    (tmp_path / "again").touch()
    pid = int((tmp_path / "pid").read_text())
    second = start_agent()
    wait_until(lambda: second.status("t")["phase"] == "ended", "the end to be told")
    assert ran(tmp_path) == ["prolog", "epilog", "epilog"]
    wait_until(lambda: not is_running(pid), "the first epilog to be ended")


def test_epilog_runs_for_a_task_that_was_killed(agent: Agent, tmp_path: Path) -> None:
    agent.launch("t", "sleep", "600", scripts=scripts(tmp_path))
    os.kill(agent.wait_phase("t", "running")["pid"], signal.SIGKILL)
    assert agent.wait_phase("t", "ended")["signal"] == signal.SIGKILL
    assert ran(tmp_path) == ["prolog", "epilog"]


def test_nothing_of_the_user_reaches_the_scripts(agent: Agent, tmp_path: Path) -> None:
    """Neither by variables, nor by files in the working folder, nor by the folder itself."""
    telling = f"pwd >{tmp_path}/told; env >>{tmp_path}/told; command -v env >>{tmp_path}/told"
    evil = {
        "PATH": ".:/evil",
        "LD_PRELOAD": "/evil.so",
        "BASH_ENV": "/evil",
        "ENV": "/evil",
        "MUSTER_OWNER": "root",
        "MUSTER_UID": "0",
        "HOME": "/evil",
        "PYTHONPATH": "/evil",
    }
    agent.shell("t", "true", env=evil, files={"env": "evil"}, scripts=scripts(tmp_path, prolog=telling))
    agent.wait_phase("t", "ended")
    told = (tmp_path / "told").read_text()
    assert told.splitlines()[0] == "/"
    assert "evil" not in told
    assert "MUSTER_OWNER=bob\n" in told
    assert "MUSTER_GPUS=0,1\n" in told
    assert "MUSTER_UID" not in told
