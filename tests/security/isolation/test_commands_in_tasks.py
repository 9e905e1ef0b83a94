"""A command that somebody runs in a task is confined as the task is: the same attacks fail, and it sees the same."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.agent_process.driver import wait_until
from tests.security.isolation.attacks import DEVICES, FILES, PROCESSES, SOCKETS, attack_script, attempts_in, is_expected
from tests.security.isolation.scene import PLAIN_UID, Scene, scene

CELLS = FILES | PROCESSES | SOCKETS | DEVICES
SCENES: dict[str, dict[str, Any]] = {
    "user": {},
    "user, below a closed folder": {"is_closed": True},
    "user, control groups of version 2": {"groups_version": 2},
    "namespace": {},
    "namespace, agent without root": {"agents_uid": PLAIN_UID},
    "none": {},
}
SEEN = "id; pwd; readlink /proc/self/ns/mnt /proc/self/ns/pid /proc/self/ns/user; cat /proc/self/cgroup; ls /dev"
RIGHTS = "grep -E '^(Uid|Gid|Groups|NoNewPrivs|CapEff|CapPrm)' /proc/self/status"


@pytest.fixture(scope="module", params=list(SCENES))
def entered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A scene with a running task of the attacker, who can run commands in it."""
    mode = str(request.param).split(",")[0]
    with scene(mode, tmp_path_factory.mktemp("scene"), **SCENES[request.param]) as made:
        made.agent.shell("own", f"({SEEN}; {RIGHTS}; env | sort) > seen; echo ready; exec sleep 1000", **made.order)
        wait_until(lambda: b"ready" in made.agent.log("own"), "the task to be at work")
        yield made
        made.agent.ask("stop", task="own", grace_s=0)
        made.agent.wait_phase("own", "ended")


def run(scene: Scene, script: str, *, terminal: dict[str, Any] | None = None) -> tuple[str, int]:
    """What the command prints, and its exit code."""
    argv = ["/bin/sh", "-c", script]
    name = scene.agent.ask("exec_in_task", task="own", argv=argv, terminal=terminal)["exec"]
    said = b""
    while True:
        answer = scene.agent.ask("exec_read", exec=name)
        said += b"".join(base64.b64decode(piece["data"]) for piece in answer["output"])
        if answer["ended"]:
            return said.decode(), answer["exit_code"]


def test_a_command_in_a_task_reaches_no_more_than_the_task(entered: Scene) -> None:
    said, _ = run(entered, attack_script(CELLS, entered.words))
    attempts = attempts_in(said, CELLS)
    wrong = {name: attempts[name].said for name in CELLS if not is_expected(attempts[name], CELLS[name], entered.mode)}
    assert not wrong


def test_a_command_sees_what_its_task_sees(entered: Scene) -> None:
    def without_own(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith(("MUSTER_EXEC=", "OLDPWD=", "_=", "SHLVL="))]

    said, code = run(entered, f"({SEEN}; {RIGHTS}; env | sort) > now; cat seen; echo ----; cat now")
    assert code == 0, said
    before, _, now = said.partition("----\n")
    assert without_own(now) == without_own(before)


def test_a_terminal_in_a_task_is_its_own(entered: Scene) -> None:
    said, code = run(entered, "tty && test -w $(tty) && stty size", terminal={"rows": 21, "columns": 77})
    assert code == 0, said
    assert "/dev/pts/" in said
    assert "21 77" in said


@pytest.mark.parametrize("escape", ["", "setsid "])
def test_nothing_is_left_of_a_command_whose_reader_has_gone(entered: Scene, escape: str) -> None:
    """Its processes are known outside by their numbers there, which a task with a process namespace cannot tell."""
    folder = entered.agent.root / "tasks/own/work"
    tag = f"left{len(escape)}"
    script = f"{escape}sleep 98{len(escape)}7 & touch {tag}; wait; sleep 98{len(escape)}7"
    name = entered.agent.ask("exec_in_task", task="own", argv=["/bin/sh", "-c", script], terminal=None)["exec"]
    wait_until((folder / tag).exists, "the command to be at work")
    wait_until(lambda: _sleeping(f"98{len(escape)}7"), "what it started")
    entered.agent.ask("exec_stop", exec=name)
    wait_until(lambda: not _sleeping(f"98{len(escape)}7"), "all of it to be gone")
    assert entered.agent.status("own")["phase"] == "running"


def _sleeping(seconds: str) -> list[str]:
    return [path.name for path in Path("/proc").iterdir() if path.name.isdigit() and _is_sleep(path, seconds)]


def _is_sleep(process: Path, seconds: str) -> bool:
    try:
        return process.joinpath("cmdline").read_bytes() == f"sleep\0{seconds}\0".encode()
    except OSError:
        return False
