"""Which processes are a task's for certain: real processes, and those that only say they are."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muster.agent.execution import own_processes
from muster.agent.system.processes import MARK, Identity, ProcessStat, boot_id, find_members, identity_of
from muster.agent.tasks.table import Task

pytestmark = pytest.mark.fast
ACCOUNT, ANOTHER = 70011, 70012
Started = Callable[..., int]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """A process with the mark of the task in this test's folder, that is ready."""
    running: list[subprocess.Popen[bytes]] = []

    def start(account: int | None = None) -> int:
        env = {**os.environ, MARK: str(tmp_path)}
        # One that is ready executes nothing more: while a program takes the place of another, it shows no mark.
        command = ["/bin/sh", "-c", "echo ready; read never"]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, env=env, user=account, stdin=pipe, stdout=pipe, start_new_session=True)
        running.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process.pid

    yield start
    for process in running:
        process.kill()
        process.communicate()


def task(folder: Path, leader: int, account: int | None = None, groups: tuple[str, ...] = ()) -> Task:
    made = Task("t", str(folder), groups=groups, account=account)
    made.identity = identity_of(leader, boot_id())
    return made


def test_the_mark_alone_is_no_proof(started: Started, tmp_path: Path) -> None:
    leader, stranger = started(), started()
    assert leader in own_processes.others(task(tmp_path, leader), boot_id())
    assert stranger not in own_processes.others(task(tmp_path, leader), boot_id())


def test_what_the_agent_has_started_in_the_task_later_is_of_the_task(started: Started, tmp_path: Path) -> None:
    leader, command = started(), started()
    commands = [identity_of(command, boot_id())]
    assert {leader, command} <= own_processes.others(task(tmp_path, leader), boot_id(), commands)


@pytest.mark.skipif(os.getuid() != 0, reason="only root starts processes under other accounts")
def test_under_the_account_of_the_task_alone_the_mark_counts(started: Started, tmp_path: Path) -> None:
    leader, forked_away, stranger = started(ACCOUNT), started(ACCOUNT), started(ANOTHER)
    found = own_processes.others(task(tmp_path, leader, ACCOUNT), boot_id())
    assert {leader, forked_away} <= found
    assert stranger not in found
    grouped = task(tmp_path, leader, ACCOUNT, groups=("/nowhere/muster-t.12345678",))
    assert forked_away not in own_processes.others(grouped, boot_id()), "the control group knows better"


@pytest.mark.skipif(os.getuid() != 0, reason="only root starts processes under other accounts")
def test_processes_of_other_accounts_are_not_stopped_with_the_task(started: Started, tmp_path: Path) -> None:
    leader, forked_away, agents, stranger = started(ACCOUNT), started(ACCOUNT), started(), started(ANOTHER)
    members = find_members([task(tmp_path, leader, ACCOUNT).target], boot_id())["t"]
    assert set(members) == {leader, forked_away, agents}
    assert stranger in find_members([task(tmp_path, leader).target], boot_id())["t"], "nothing tells them apart there"


def process(pid: int, parent: int, start: int, session: int = 0) -> ProcessStat:
    return ProcessStat(pid, "S", parent, session or pid, 0, start, 0)


def test_descent_is_followed_through_sessions_but_not_through_numbers_that_were_used_again() -> None:
    boot = "b"
    processes = [
        process(10, 1, 100),
        process(11, 10, 110),
        process(12, 11, 120),
        process(13, 1, 130, session=10),
        process(20, 11, 105),  # its parent had the number 11 before
        process(30, 1, 100),
    ]
    assert own_processes.below(Identity(10, 100, boot), processes) == {10, 11, 12, 13}
    assert own_processes.below(Identity(10, 99, boot), processes) == set(), "another process has its number"
