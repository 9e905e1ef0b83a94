"""Logs of tasks that share no folder with the login node: they are sent there, and kept below their limit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muster.agent.batch.kept_logs import LOG_LIMIT
from muster.agent.batch.own_log import OwnLog
from muster.agent.batch.relay import Relay
from muster.agent.batch.relayed import RelayLink, ShippedLog
from muster.agent.batch.spool import Gang, Spool
from muster.agent.batch.tasks import BatchTask
from muster.agent.tasks.log_limits import Dropped
from muster.agent.tasks.log_times import marks_of, read_marks
from muster.agent.tasks.logs import read_log
from muster.agent.tasks.task_folder import LOG_TIMES

pytestmark = pytest.mark.timeout(60)
KEY, TASK, TOKEN = "job.1", "job.1.worker.0", "a token"
LIMIT = 1 << 20
LINES = "".join(f"{number}\n" for number in range(500_000)).encode()
Ask = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    spool = Spool(str(tmp_path / "login"))
    spool.make()
    return spool


@pytest.fixture
def gang(spool: Spool) -> Gang:
    gang = spool.gang(KEY)
    gang.write_facts({"tasks": [TASK], "token": TOKEN, LOG_LIMIT: LIMIT})
    return gang


@pytest.fixture
def ask(spool: Spool, gang: Gang) -> Ask:
    return RelayLink(f"127.0.0.1,{Relay(spool).port}", TOKEN, KEY).ask


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The task's folder on its node."""
    folder = tmp_path / "node"
    folder.mkdir()
    return folder


def test_login_node_keeps_the_beginning_and_the_end_whatever_it_is_sent(gang: Gang, ask: Ask, node: Path) -> None:
    (node / "log").write_bytes(LINES)

    ShippedLog(str(node), TASK, ask).ship()

    assert _blocks(gang) <= LIMIT + 8192
    dropped = _dropped(gang)
    assert _read(gang, 0, 4) == LINES[:4]
    assert _read(gang, dropped.end, 100) == LINES[dropped.end : dropped.end + 100]
    assert _read(gang, len(LINES) - 7, 100) == b"499999\n"


def test_what_a_node_has_dropped_is_not_sent_and_not_read_as_zeros(gang: Gang, ask: Ask, node: Path) -> None:
    (node / "log").write_bytes(LINES)
    OwnLog(str(node), LIMIT).ended()
    sent: list[dict[str, Any]] = []

    def recorded(message: dict[str, Any]) -> dict[str, Any]:
        sent.append(message)
        return ask(message)

    ShippedLog(str(node), TASK, recorded).ship()

    assert sum(len(message["data"]) for message in sent) <= LIMIT
    dropped = _dropped(gang)
    whole = _read(gang, 0, dropped.start) + _read(gang, dropped.end, LIMIT)
    assert whole == LINES[: dropped.start] + LINES[dropped.end :]


def test_piece_whose_answer_was_lost_is_sent_again(gang: Gang, ask: Ask) -> None:
    for offset, data in ((0, b"one\n"), (0, b"one\n"), (2, b"e\ntwo\n")):
        assert "problem" not in ask({"what": "log", "task": TASK, "offset": offset, "data": data})
    assert _read(gang, 0, 100) == b"one\ntwo\n"


def test_piece_that_was_lost_is_a_gap(gang: Gang, ask: Ask) -> None:
    for offset, data in ((0, b"one\n"), (104, b"last\n")):
        ask({"what": "log", "task": TASK, "offset": offset, "data": data})
    assert _dropped(gang) == Dropped(4, 104)
    assert _read(gang, 0, 200) == b"one\n"
    assert _read(gang, 104, 200) == b"last\n"


def test_times_are_those_at_which_the_log_grew(gang: Gang, ask: Ask) -> None:
    for offset in (0, 4):
        ask({"what": "log", "task": TASK, "offset": offset, "data": b"one\n"})
    marks = marks_of(read_marks(f"{gang.task_folder(TASK)}/{LOG_TIMES}"))
    assert [length for _, length in marks] == [4, 8]


def _blocks(gang: Gang) -> int:
    return (Path(gang.task_folder(TASK)) / "log").stat().st_blocks * 512


def _read(gang: Gang, offset: int, limit: int) -> bytes:
    return bytes(read_log(BatchTask(TASK, gang), offset, limit)["data"])


def _dropped(gang: Gang) -> Dropped:
    found = read_log(BatchTask(TASK, gang), 0, 0)["dropped"]
    assert found is not None
    return found  # type: ignore[no-any-return]
