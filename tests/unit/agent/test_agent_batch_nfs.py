"""Marks and orders are found on NFS, where a file that was looked for too early seems to be missing for a while."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from muster.agent.batch.service import BatchService
from muster.agent.batch.spool import BEGIN, END, Gang, Spool
from muster.agent.batch.stop_orders import StopOrders
from tests.parts.nfs_client import NfsClient

pytestmark = pytest.mark.fast
KEY = "job.1"
TASKS = [f"{KEY}.worker.0", f"{KEY}.worker.1"]


class Turns:
    """Implements what the service needs of its loop: the test says when it goes on."""

    def __init__(self) -> None:
        self._next: list[Callable[[], None]] = []

    def call_later(self, after_s: float, call: Callable[[], None]) -> None:
        self._next.append(call)

    def take(self) -> None:
        waiting, self._next = self._next, []
        for call in waiting:
            call()


class LoginNode:
    """An agent on a login node that has a gang, and has found none of its marks."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spool = Spool(str(folder))
        self.spool.make()
        self.gang = submitted(self.spool)
        NfsClient(folder).see(monkeypatch)
        self.told: list[Mapping[str, Any]] = []
        self.turns = Turns()
        service = BatchService(self.turns, str(folder), self.told.append)  # type: ignore[arg-type]
        self._operations = service.operations()
        self._operations["batch_open"]({"commands": "", "env": {}})
        assert self.marks() == dict.fromkeys(TASKS, (None, None))

    def marks(self, **more: Any) -> dict[str, tuple[Any, Any]]:
        """When the tasks have begun and ended, as the agent tells it."""
        answer = self._operations["batch_gangs"]({"table": "", "version": 0, **more})()
        (gang,) = answer["gangs"]
        return {one["task"]: (at(one["begin"]), at(one["end"])) for one in gang["tasks"]}


def submitted(spool: Spool) -> Gang:
    gang = spool.gang(KEY)
    gang.write_facts({"name": "job", "tasks": TASKS, "user": "", "amounts": {}, "digests": []})
    gang.write_job("7")
    return gang


def at(mark: Mapping[str, Any] | None) -> float | None:
    return None if mark is None else float(mark["at"])


@pytest.fixture
def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoginNode:
    return LoginNode(tmp_path, monkeypatch)


def begin_and_end(spool: Spool, gang: Gang, task: str) -> None:
    """As its runner does on a node."""
    Path(gang.task_folder(task)).mkdir(parents=True)
    spool.write_mark(gang, task, BEGIN, {"at": 1.0, "node": "n1"})
    spool.write_mark(gang, task, END, {"at": 2.0, "code": 0})


def test_news_of_a_task_are_read_although_its_marks_were_missing_before(login: LoginNode) -> None:
    begin_and_end(login.spool, login.gang, TASKS[0])

    login.turns.take()

    assert [(at(one["begin"]), at(one["end"])) for one in login.told] == [(1.0, 2.0)]
    assert login.marks() == {TASKS[0]: (1.0, 2.0), TASKS[1]: (None, None)}


def test_marks_without_news_are_read_when_they_are_asked_for(login: LoginNode) -> None:
    for task in TASKS:
        begin_and_end(login.spool, login.gang, task)
    login.spool.take_news()

    assert login.marks() == dict.fromkeys(TASKS, (None, None))
    assert login.marks(reread=[KEY]) == dict.fromkeys(TASKS, (1.0, 2.0))


def test_end_that_a_task_has_written_itself_is_not_overwritten(login: LoginNode) -> None:
    begin_and_end(login.spool, login.gang, TASKS[0])

    login._operations["batch_end"]({"task": TASKS[0], "end": {"at": 9.0}})()

    assert login.gang.mark(TASKS[0], END) == {"at": 2.0, "code": 0}


def test_order_to_stop_is_found_within_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(str(tmp_path))
    gang = submitted(spool)
    now = 0.0
    NfsClient(tmp_path).see(monkeypatch)
    orders = StopOrders(gang, lambda: now)
    assert orders.read() == {}
    (Path(gang.folder) / "stop.json").write_text(f'{{"{TASKS[0]}": 5}}')

    now = 0.5
    assert orders.read() == {}
    now = 1.0
    assert orders.read() == {TASKS[0]: 5.0}
