"""Limits and shortages: memory, disk. Each needs rights or mounts that not every machine gives."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.agent.tasks.cgroups import find_groups

from .conftest import StartAgent
from .driver import Agent, Refused, wait_until

EAT = "x = []\nwhile True: x.append(bytearray(1 << 20))"


@pytest.fixture
def memory_groups() -> str:
    groups = find_groups()
    if groups.memory is None:
        pytest.skip(f"no memory limits here: {groups.why}")
    return groups.memory


def test_task_over_its_memory_limit_is_killed_and_said_to_be_out_of_memory(
    agent: Agent, memory_groups: str, tmp_path: Path
) -> None:
    task = f"oom-{tmp_path.name}-{os.getpid()}"
    agent.launch(task, sys.executable, "-c", EAT, limits={"memory_bytes": 64 << 20, "cpu_shares": 256})
    ended = agent.wait_phase(task, "ended")
    assert (ended["signal"], ended["oom"], ended["stopped"]) == (9, True, False)
    wait_until(lambda: not _groups_of(task), "the groups to be removed")


def test_no_more_tasks_run_than_allowed_and_an_ended_one_makes_room(agent: Agent) -> None:
    agent.shell("first", "sleep 600", max_tasks=1)
    with pytest.raises(Refused, match="1 tasks run on this node, 1 are allowed") as refused:
        agent.shell("second", "true", max_tasks=1)
    assert refused.value.code == "too-many-tasks"
    assert agent.shell("first", "sleep 600", max_tasks=1)["task"] == "first", "a repeated launch is no second task"
    agent.ask("stop", task="first", grace_s=0)
    agent.wait_phase("first", "ended")
    agent.shell("second", "true", max_tasks=1)
    assert agent.wait_phase("second", "ended")["exit_code"] == 0


def test_task_within_its_limit_runs_in_its_group(agent: Agent, memory_groups: str, tmp_path: Path) -> None:
    task = f"fit-{tmp_path.name}-{os.getpid()}"
    limits = {"memory_bytes": 256 << 20, "cpu_shares": 512}
    agent.shell(task, "cat /proc/self/cgroup", limits=limits)
    ended = agent.wait_phase(task, "ended")
    assert (ended["exit_code"], ended["oom"]) == (0, False)
    assert f"muster-{task}".encode() in agent.log(task)
    wait_until(lambda: not _groups_of(task), "the groups to be removed")


def test_out_of_memory_is_remembered_by_the_next_agent(
    start_agent: StartAgent, memory_groups: str, tmp_path: Path
) -> None:
    task = f"seen-{tmp_path.name}-{os.getpid()}"
    first = start_agent()
    first.launch(task, sys.executable, "-c", EAT, limits={"memory_bytes": 64 << 20})
    first.wait_phase(task, "ended")
    wait_until(lambda: not _groups_of(task), "the groups, and their counts, to be removed")
    first.close()
    assert start_agent().status(task)["oom"] is True


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"cannot mount a small disk here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_launch_on_a_full_disk_is_refused_and_leaves_no_folder(start_agent: StartAgent, tiny_disk: Path) -> None:
    agent = start_agent(tiny_disk)
    agent.ask("ping")
    _fill(tiny_disk)
    with pytest.raises(Refused) as refused:
        agent.launch("t", "/bin/true", files={"big": "x" * 300_000})
    assert refused.value.code == "disk-full"
    assert not (tiny_disk / "tasks" / "t").exists()
    (tiny_disk / "filler").unlink()
    assert agent.run("t", "/bin/true")["exit_code"] == 0
    agent.close()


def test_exit_code_is_known_even_when_the_disk_is_too_full_to_record_it(
    start_agent: StartAgent, tiny_disk: Path
) -> None:
    agent = start_agent(tiny_disk)
    agent.shell("t", "cat /dev/zero > filler 2>/dev/null; exit 3")
    assert agent.wait_phase("t", "ended")["exit_code"] == 3
    agent.close()


def _groups_of(task: str) -> list[Path]:
    groups = find_groups()
    parents = {Path(parent) for parent in (groups.memory, groups.cpu, groups.processes) if parent}
    return [folder for parent in parents for folder in parent.glob(f"muster-{task}.*")]


def _fill(folder: Path) -> None:
    with (folder / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
