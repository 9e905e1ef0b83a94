"""What a hostile task can reach, for each way of isolation: every cell is an attack that is carried out.

The attacker and the victim are two plain users on one node. `none` shows that the attacks work where nothing prevents
them. A cell that is open in another mode, too, says so here and in the guide to isolation.
"""

import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.integration.agent_process.driver import wait_until
from tests.parts.passable import let_all_pass
from tests.security.isolation.attacks import DEVICES, FILES, PROCESSES, SOCKETS, Attempt, is_expected
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


class Played(NamedTuple):
    scene: Scene
    attempts: dict[str, Attempt]


@pytest.fixture(scope="module", params=list(SCENES))
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    mode = str(request.param).split(",")[0]
    with scene(mode, tmp_path_factory.mktemp("scene"), **SCENES[request.param]) as made:
        yield Played(made, made.attempt_all(CELLS))


@pytest.mark.parametrize("name", list(CELLS))
def test_a_task_reaches_what_is_not_its_own_only_where_the_guide_says_so(played: Played, name: str) -> None:
    attempt = played.attempts[name]
    assert is_expected(attempt, CELLS[name], played.scene.mode), attempt.said


def test_a_task_opens_its_own_gpu(played: Played) -> None:
    assert played.scene.run("own-gpu", "head -c1 /dev/nvidia1 | wc -c").log == "1\n"


def test_a_task_without_a_gpu_opens_none(played: Played) -> None:
    if played.scene.mode == "none":
        pytest.skip("nothing closes devices there")
    assert played.scene.run("no-gpu", "cat /dev/nvidia0 || cat /dev/nvidia1 || echo none", devices=[]).log.endswith(
        "none\n"
    )


def test_a_task_cannot_make_folders_among_those_of_tasks(played: Played) -> None:
    """A namespaced task has a folder of that name for itself, in which it can do what it likes."""
    played.scene.run("makes", f"mkdir -p {played.scene.agent.root}/tasks/forged; true")
    assert (played.scene.agent.root / "tasks/forged").exists() is (played.scene.mode == "none")


def test_a_task_cannot_forge_its_own_end_or_a_stop(played: Played) -> None:
    if played.scene.mode == "none":
        pytest.skip("only the server's own view of its orders protects it there")
    forge = 'echo 0 > "$MUSTER_TASK_DIR/exit"; echo \'{"deadline": 0}\' > "$MUSTER_TASK_DIR/stop"; exit 5'
    attack = played.scene.run("forges", forge)
    assert (attack.status["exit_code"], attack.status["stopped"]) == (5, False)
    assert not (attack.folder / "stop").exists()


def test_a_task_can_use_what_is_its_own(played: Played) -> None:
    attack = played.scene.run(
        "own",
        "cd ~ && echo mine > file && cat file && touch $MUSTER_TASK_DIR/checkpoint && cat $MUSTER_TASK_DIR/rank && "
        'echo tmp > /tmp/muster-$$ && rm /tmp/muster-$$ && echo "$HOME" && cat in/data.txt && echo end >> /dev/stdout',
        files={"rank": "3\n"},
    )
    assert attack.log.splitlines() == ["mine", "3", f"{attack.folder}/work", "clean", "end"]
    assert attack.status["checkpoint_at"] is not None


def test_a_namespaced_task_sees_no_process_and_no_home_of_others(played: Played) -> None:
    if played.scene.mode != "namespace":
        pytest.skip("the other modes hide nothing, but protect it")
    told = played.scene.run("looks", "ls / /root /home; ls -d /proc/[0-9]* | wc -l; ls /dev/shm /tmp").log
    assert next(int(line) for line in told.splitlines() if line.isdigit()) <= 5


def test_an_environment_of_a_user_is_tried_as_a_task_of_theirs(
    played: Played, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("environments")
    let_all_pass(folder)
    python, nap = folder / "evil" / "bin" / "python", f"9{secrets.randbelow(10**8)}"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\nexec 2>&1\nsetsid sleep {nap} &\ncat {played.scene.words['server_file']}\nexit 3\n")
    python.chmod(0o755)
    order = {**played.scene.order["isolation"], "folders": [{"path": str(folder), "read_only": False}]}
    tried = played.scene.agent.ask("test_environment", path=str(folder / "evil"), devices="", isolation=order)
    assert "exit code 3" in tried["error"], tried
    assert ("admin" in tried["error"]) is (played.scene.mode == "none"), tried
    if played.scene.mode == "none":
        subprocess.run(["pkill", "-f", f"sleep {nap}"], check=False)
    wait_until(lambda: not _runs("sleep", nap), "what the environment has started to end")


def _runs(*argv: str) -> bool:
    wanted = "\0".join(argv).encode() + b"\0"
    return any(_content(path) == wanted for path in Path("/proc").glob("[0-9]*/cmdline"))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
