"""Secrets of isolated tasks: their own account reads them, nobody else does, and nothing of them is left."""

import base64
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.integration.agent_process.driver import Agent, is_running, wait_until
from tests.parts.passable import let_all_pass
from tests.security.isolation.scene import PLAIN_UID, isolation, system_python

VALUE = b"s3cr3t-value-of-bob"
EVE = "cat {folder}/secrets/key {folder}/masked; cat /proc/{pid}/environ; grep -r s3cr3t.value {root}; true"


@pytest.fixture(params=["user", "namespace"])
def mode(request: pytest.FixtureRequest) -> str:
    if os.getuid() != 0:
        pytest.skip("only root can start tasks under other accounts")
    return str(request.param)


def start(root: Path) -> Agent:
    let_all_pass(root.parent)
    return Agent([system_python(), "-m", "muster.agent"], root)


def secrets() -> dict[str, Any]:
    value = base64.b64encode(VALUE).decode()
    return {"files": {"key": value, "deep/er/key": value}, "masked": [value]}


def launch(agent: Agent, task: str, script: str, mode: str, **more: Any) -> Path:
    """Returns the folder of the task."""
    folder = agent.root / "tasks" / task
    env = {"KEY": VALUE.decode(), "MUSTER_SECRETS": f"{folder}/secrets"}
    agent.shell(task, script, env=env, secrets=secrets(), isolation={**isolation(mode, "bob"), **more})
    return folder


def shown(agent: Agent, task: str) -> bytes:
    data: bytes = agent.ask("read_log", task=task, offset=0, limit=1 << 20)["data"]
    return data


def left(root: Path) -> list[Path]:
    """Files below in which the value is. They may be removed meanwhile."""
    found = [Path(folder) / name for folder, _, names in os.walk(root) for name in names]
    return [path for path in found if path.is_file() and VALUE in _content(path)]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def test_a_task_gets_its_secrets_and_nobody_else_does(mode: str, tmp_path: Path) -> None:
    agent = start(tmp_path / "node")
    go = tmp_path / "go"
    os.mkfifo(go, 0o666)
    go.chmod(0o666)
    script = f'cat "$MUSTER_SECRETS/key" "$MUSTER_SECRETS/deep/er/key"; echo "$KEY"; echo up; cat {go}'
    visible = [{"path": str(go), "read_only": False}]
    folder = launch(agent, "bobs", script, mode, folders=visible)
    pid = agent.wait_phase("bobs", "running")["pid"]
    wait_until(lambda: b"up" in shown(agent, "bobs"), "the task to be at work")
    for name in ("key", "deep/er/key"):
        info = (folder / "secrets" / name).stat()
        assert (stat.S_IMODE(info.st_mode), info.st_uid) == (0o400, isolation(mode, "bob")["uid"])
    assert stat.S_IMODE((folder / "secrets").stat().st_mode) == 0o700
    assert (stat.S_IMODE((folder / "masked").stat().st_mode), (folder / "masked").stat().st_uid) == (0o600, 0)
    attack = EVE.format(folder=folder, pid=pid, root=agent.root)
    agent.shell("eves", attack, isolation=isolation(mode, "eve"))
    agent.wait_phase("eves", "ended")
    assert VALUE not in agent.log("eves")
    assert not [pid for pid in Path("/proc").glob("[0-9]*/cmdline") if VALUE in _bytes(pid)]

    go.write_text("go\n")
    agent.wait_phase("bobs", "ended")
    stars = b"*" * len(VALUE)
    wait_until(lambda: not (folder / "masked").exists(), "the log to be masked")
    assert shown(agent, "bobs") == agent.log("bobs") == stars * 3 + b"\nup\ngo\n"
    assert not (folder / "secrets").exists()
    agent.close()
    assert left(agent.root) == []


def test_a_later_agent_masks_the_log_of_a_task_that_it_did_not_launch(mode: str, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go, 0o666)
    go.chmod(0o666)
    first = start(tmp_path / "node")
    folder = launch(
        first, "t", f'echo "$KEY"; cat {go}; echo "$KEY"', mode, folders=[{"path": str(go), "read_only": False}]
    )
    pid = first.wait_phase("t", "running")["pid"]
    wait_until(lambda: VALUE in first.log("t"), "the task to be at work")
    first.kill()
    second = start(tmp_path / "node")
    assert shown(second, "t") == b"*" * len(VALUE) + b"\n"
    second.kill()
    go.write_text("go\n")
    wait_until(lambda: not is_running(pid), "the task to end")
    third = start(tmp_path / "node")
    wait_until(lambda: third.status("t")["phase"] == "ended", "the end to be known")
    wait_until(lambda: not (folder / "masked").exists(), "the log to be masked")
    assert shown(third, "t").count(b"*" * len(VALUE)) == 2
    third.close()
    assert left(third.root) == []


def test_a_task_that_cannot_start_leaves_no_secrets(mode: str, tmp_path: Path) -> None:
    agent = start(tmp_path / "node")
    missing = {"digest": "0" * 64, "path": str(tmp_path / "missing")}
    agent.shell("t", "true", secrets=secrets(), isolation=isolation(mode, "bob"), package=missing)
    assert agent.wait_phase("t", "ended")["error"] is not None
    wait_until(lambda: left(agent.root) == [], "the secrets to be removed")
    agent.close()


def test_an_agent_without_root_gives_secrets_too_and_removes_them(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can start an agent under another account")
    home = tmp_path / "plain"
    home.mkdir()
    os.chown(home, PLAIN_UID, PLAIN_UID)
    let_all_pass(home)
    become = ["setpriv", f"--reuid={PLAIN_UID}", f"--regid={PLAIN_UID}", "--clear-groups"]
    agent = Agent([*become, system_python(), "-m", "muster.agent"], home / "node")
    can = agent.ask("hello")["isolation"]
    if not can["namespace"]:
        pytest.skip(f"this machine cannot: {can['why']}")
    folder = launch(agent, "t", 'cat "$MUSTER_SECRETS/key"; echo " $KEY"; ls -A "$MUSTER_SECRETS/.."', "namespace")
    assert agent.wait_phase("t", "ended")["exit_code"] == 0
    wait_until(lambda: not (folder / "masked").exists(), "the log to be masked")
    stars = "*" * len(VALUE)
    assert shown(agent, "t").decode().splitlines() == [
        f"{stars} {stars}",
        "checkpoint",
        "metrics",
        "muster.zip",
        "secrets",
        "tracking-url",
        "work",
    ]
    assert left(agent.root) == []
    agent.close()


def test_a_task_that_removes_its_own_folder_does_not_disturb_the_agent(tmp_path: Path) -> None:
    agent = start(tmp_path / "node")
    agent.shell("t", 'rm -rf "$MUSTER_TASK_DIR"', secrets=secrets())
    agent.wait_phase("t", "ended")
    assert agent.run("next", "true")["exit_code"] == 0
    assert left(agent.root) == []
    agent.close()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
