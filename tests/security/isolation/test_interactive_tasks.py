"""Tasks with a terminal or standard input under each isolation: they have it, confined as ever, and nobody else."""

import base64
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.agent_process.driver import wait_until
from tests.security.isolation.scene import PLAIN_UID, Scene, scene

SCENES: dict[str, dict[str, Any]] = {
    "user": {},
    "user, below a closed folder": {"is_closed": True},
    "namespace": {},
    "namespace, agent without root": {"agents_uid": PLAIN_UID},
    "none": {},
}


@pytest.fixture(scope="module", params=list(SCENES))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    mode = str(request.param).split(",")[0]
    with scene(mode, tmp_path_factory.mktemp("scene"), **SCENES[request.param]) as one:
        yield one


def attached(scene: Scene, task: str, terminal: dict[str, int] | None = None) -> str:
    scene.agent.wait_phase(task, "running")
    return str(scene.agent.ask("attach", task=task, terminal=terminal, tail=None)["exec"])


def typed(scene: Scene, name: str, data: bytes, *, last: bool = False) -> None:
    assert scene.agent.ask("exec_write", exec=name, data=data, last=last)["taken"]


def until(scene: Scene, name: str, wanted: bytes) -> bytes:
    said = b""
    while wanted not in said:
        answer = scene.agent.ask("exec_read", exec=name)
        said += b"".join(base64.b64decode(piece["data"]) for piece in answer["output"])
        assert not answer["ended"] or wanted in said, said
    return said


def code_of(scene: Scene, name: str) -> int:
    while True:
        answer = scene.agent.ask("exec_read", exec=name)
        if answer["ended"]:
            return int(answer["exit_code"])


def test_a_task_has_a_terminal_of_its_own(made: Scene) -> None:
    made.agent.shell("tty", "exec sh -i", stdin=True, tty=True, **made.order)
    name = attached(made, "tty", {"rows": 21, "columns": 77})
    typed(made, name, b"tty && test -w $(tty) && stty size && id -u && echo done-$((1+1))\n")
    said = until(made, name, b"done-2").decode()
    assert "/dev/pts/" in said
    assert "21 77" in said
    typed(made, name, b"sleep 1000\n")
    until(made, name, b"sleep 1000")
    typed(made, name, b"\x03echo after-$((2+2))\n")
    until(made, name, b"after-4")
    socket = made.agent.root / "tasks/tty/attach"
    assert socket.stat().st_mode & 0o777 == 0o600
    if made.mode == "user":
        assert refused_for_others(str(socket))
    typed(made, name, b"exit 6\n")
    assert code_of(made, name) == 6
    assert b"after-4" in made.agent.log("tty")
    wait_until(lambda: not socket.exists(), "the holder to end")


def refused_for_others(socket: str) -> bool:
    code = f"import os,socket; os.setuid(65534); socket.socket(socket.AF_UNIX).connect({socket!r})"
    done = subprocess.run(["python3", "-c", code], capture_output=True, text=True, check=False)
    return os.getuid() != 0 or "PermissionError" in done.stderr


def test_a_task_reads_its_input_to_its_end(made: Scene) -> None:
    made.agent.shell("pipe", "cat; echo over; exit 5", stdin=True, **made.order)
    name, other = attached(made, "pipe"), attached(made, "pipe")
    typed(made, name, b"one\n")
    until(made, name, b"one\n")
    typed(made, other, b"two\n")
    until(made, name, b"two\n")
    typed(made, name, b"", last=True)
    assert code_of(made, name) == 5
    assert code_of(made, other) == 5
    assert made.agent.log("pipe") == b"one\ntwo\nover\n"
