"""Setups on a real agent: once per node and key, also when something is killed, and bounded on the disk."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.agent.tasks.records import read_started
from muster.domain.specs import Setup
from muster.launch.setup_script import SCRIPT
from muster.launch.setups import ENTRY_VARIABLE, SCRIPT_FILE, setup_command
from tests.parts.building import a_spec

from .conftest import StartAgent
from .driver import Agent, wait_until

OWNER, OTHER = "a" * 32, "b" * 32
KEY = "1" * 32


@pytest.fixture
def own_ground() -> Iterator[Path]:
    """Every session of pytest closes the folder above `tmp_path` again, which others may have opened meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="muster-setups-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def order(agent: Agent, setup: str, command: str = "true", **more: Any) -> dict[str, Any]:
    """The arguments of a launch, as a backend makes them."""
    key, owner, job = more.pop("key", KEY), more.pop("owner", OWNER), more.pop("job", "j")
    entry = str(agent.root / "setups" / owner / key)
    limits = {"most_bytes": more.pop("most_bytes", 1 << 40), "most_age_s": more.pop("most_age_s", 1e6)}
    return {
        "argv": list(setup_command(a_spec(setup=Setup(("/bin/sh", "-c", setup))), ("/bin/sh", "-c", command))),
        "env": {ENTRY_VARIABLE: entry, "MUSTER_JOB_ID": job, "MUSTER_ATTEMPT": "1", "MUSTER_JOB_NAME": job},
        "files": {SCRIPT_FILE: SCRIPT},
        "setup": {"entry": entry, "kept": more.pop("kept", True), **limits},
        **more,
    }


def start(agent: Agent, task: str, setup: str, command: str = "true", **more: Any) -> None:
    agent.ask("launch", task=task, ports=[], devices=[], **order(agent, setup, command, **more))


def finish(agent: Agent, task: str, setup: str, command: str = "true", **more: Any) -> str:
    start(agent, task, setup, command, **more)
    ended = agent.wait_phase(task, "ended")
    assert ended["exit_code"] == 0, agent.log(task).decode()
    return agent.log(task).decode()


def test_tasks_at_the_same_time_wait_for_the_one_that_prepares(agent: Agent, tmp_path: Path) -> None:
    ran, gate = tmp_path / "ran", tmp_path / "gate"
    os.mkfifo(gate)
    setup = f"echo once >>{ran}; echo made >$MUSTER_SETUP_DIR/made; read line <{gate}"
    for number in range(3):
        start(agent, f"t{number}", setup, "cat $MUSTER_SETUP_DIR/made")
    wait_until(
        lambda: sum(b"waits for another task" in agent.log(f"t{number}") for number in range(3)) == 2, "the setup"
    )
    assert [agent.status(f"t{number}")["phase"] for number in range(3)] == ["preparing"] * 3
    gate.write_text("go\n")
    for number in range(3):
        assert agent.wait_phase(f"t{number}", "ended")["exit_code"] == 0
        assert agent.log(f"t{number}").endswith(b"made\n")
    assert ran.read_text() == "once\n"
    assert "ready: prepared on" in finish(agent, "later", setup)
    assert ran.read_text() == "once\n"


def test_a_task_whose_command_runs_is_told_to_be_running(agent: Agent) -> None:
    start(agent, "t", "true", "sleep 1000")
    started = agent.wait_phase("t", "running")
    assert started["started_at"] is not None
    agent.ask("stop", task="t", grace_s=0)
    agent.wait_phase("t", "ended")


def test_a_setup_outlives_its_agent_and_is_not_run_again(start_agent: StartAgent, tmp_path: Path) -> None:
    ran, gate = tmp_path / "ran", tmp_path / "gate"
    os.mkfifo(gate)
    setup = f"echo once >>{ran}; read line <{gate}"
    first = start_agent()
    start(first, "t", setup)
    wait_until(ran.exists, "the setup")
    first.kill()
    second = start_agent()
    assert second.status("t")["phase"] == "preparing"
    start(second, "u", setup)
    wait_until(lambda: b"waits for another task" in second.log("u"), "the setup")
    gate.write_text("go\n")
    assert second.wait_phase("u", "ended")["exit_code"] == 0
    assert second.wait_phase("t", "ended")["exit_code"] == 0
    assert ran.read_text() == "once\n"


def test_a_setup_that_is_killed_in_the_middle_leaves_nothing_that_others_would_use(
    agent: Agent, tmp_path: Path
) -> None:
    gate, ran = tmp_path / "gate", tmp_path / "ran"
    os.mkfifo(gate)
    setup = f"echo part >>$MUSTER_SETUP_DIR/part; echo again >>{ran}; read line <{gate}"
    start(agent, "t", setup)
    wait_until(lambda: ran.exists() and ran.read_text() == "again\n", "the setup")
    record = read_started(str(agent.root / "tasks/t"))
    assert record is not None
    assert record.leader is not None
    os.killpg(record.leader.pid, signal.SIGKILL)
    assert agent.wait_phase("t", "ended")["signal"] == signal.SIGKILL
    start(agent, "u", setup, "cat $MUSTER_SETUP_DIR/part")
    wait_until(lambda: ran.read_text() == "again\nagain\n", "the setup")
    gate.write_text("go\n")
    assert agent.wait_phase("u", "ended")["exit_code"] == 0
    assert agent.log("u").splitlines()[-1:] == [b"part"]


def test_a_setup_that_fails_ends_the_tasks_that_wait_for_it_and_runs_again_for_the_next_job(
    agent: Agent, tmp_path: Path
) -> None:
    ran, gate, fixed = tmp_path / "ran", tmp_path / "gate", tmp_path / "fixed"
    os.mkfifo(gate)
    setup = f"echo x >>{ran}; [ -e {fixed} ] || {{ read line <{gate}; exit 3; }}"
    for task in ("t", "u"):
        start(agent, task, setup, "echo never")
    wait_until(lambda: any(b"waits for another" in agent.log(task) for task in ("t", "u")), "the setup")
    gate.write_text("go\n")
    codes = sorted(agent.wait_phase(task, "ended")["exit_code"] for task in ("t", "u"))
    assert codes == [3, 3], "who waited says what the setup said"
    assert ran.read_text() == "x\n"
    assert b"never" not in agent.log("t") + agent.log("u")
    fixed.touch()
    finish(agent, "v", setup, job="other")
    assert ran.read_text() == "x\nx\n"


def test_what_the_setup_changes_in_the_package_is_in_the_working_directory(agent: Agent, tmp_path: Path) -> None:
    setup = "mkdir built && echo compiled >built/it"
    for task in ("t", "u"):
        assert finish(agent, task, setup, "cat built/it; echo changed >built/it").endswith("compiled\n")


def test_users_share_nothing(agent: Agent, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for task, owner in (("t", OWNER), ("u", OTHER)):
        finish(agent, task, f"echo x >>{ran}", owner=owner)
    assert ran.read_text() == "x\nx\n"


def test_one_that_is_not_kept_goes_with_its_last_task(agent: Agent) -> None:
    entry = agent.root / "setups" / OWNER / KEY
    start(agent, "t", "true", "sleep 1000", kept=False)
    agent.wait_phase("t", "running")
    finish(agent, "u", "true", kept=False)
    assert entry.exists()
    agent.ask("stop", task="t", grace_s=0)
    agent.wait_phase("t", "ended")
    wait_until(lambda: not entry.exists(), "the setup")


def test_old_ones_are_removed_but_never_one_in_use(agent: Agent) -> None:
    keys = [letter * 32 for letter in "123"]
    first, second = (agent.root / "setups" / OWNER / key for key in keys[:2])
    start(agent, "t", "true", "sleep 1000", key=keys[0])
    agent.wait_phase("t", "running")
    finish(agent, "u", "true", key=keys[1])
    assert second.exists()
    finish(agent, "v", "head -c 100000 /dev/zero >$MUSTER_SETUP_DIR/large", key=keys[2], most_bytes=1)
    wait_until(lambda: not second.exists(), "the setup")
    assert first.exists()
    agent.ask("stop", task="t", grace_s=0)
    agent.wait_phase("t", "ended")
    os.utime(first, (0, 0))
    finish(agent, "w", "true", key="4" * 32, most_age_s=3600)
    wait_until(lambda: not first.exists(), "the setup")


def test_they_are_listed_and_dropped(agent: Agent) -> None:
    start(agent, "t", "true", "sleep 1000")
    agent.wait_phase("t", "running")
    finish(agent, "u", "true", key="2" * 32)
    listed = agent.ask("setups")["setups"]
    assert sorted((one["key"], one["in_use"]) for one in listed) == [(KEY, True), ("2" * 32, False)]
    assert agent.ask("drop_setups")["dropped"] == 1
    assert agent.ask("drop_setups", owner=OWNER, key=KEY)["in_use"] == 1
    assert [one["key"] for one in agent.ask("setups")["setups"]] == [KEY]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another account")
@pytest.mark.parametrize("mode", ["user", "namespace"])
def test_each_account_has_its_own_and_nobody_can_plant_anything(
    start_agent: StartAgent, own_ground: Path, mode: str
) -> None:
    agent = start_agent(own_ground / "root")

    def isolation(owner: str, uid: int) -> dict[str, Any]:
        bounds = {"first_uid": 70000, "last_uid": 70009}
        return {"mode": mode, "owner": owner, "owner_id": "", "account": None, "uid": uid, "folders": [], **bounds}

    setup = "id -u >$MUSTER_SETUP_DIR/who"
    read = "cat $MUSTER_SETUP_DIR/who; id -u"
    said = finish(agent, "t", setup, read, isolation=isolation("ada", 70001))
    assert said.splitlines()[-2:] == ["70001", "70001"]
    entry = agent.root / "setups" / OWNER / KEY
    tried = f"ls {entry}/content; touch {entry}/x {entry}/tasks/x; mkdir -p {entry}/content/v"
    said = finish(agent, "u", setup, f"{tried}; id -u", isolation=isolation("eve", 70002), owner=OTHER)
    assert said.splitlines()[-1] == "70002"
    assert sorted(path.name for path in entry.iterdir()) == ["content", "tasks"]
    assert len(list((entry / "content").iterdir())) == 1
    assert list((entry / "tasks").iterdir()) == []
    assert (entry / "content").stat().st_uid == 70001
