"""Outputs of tasks that share no folder with the login node: they are sent there, and kept below the task's folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muster.agent.batch.kept_outputs import LIMIT, KeptOutputs, read_told
from muster.agent.batch.relay import Relay
from muster.agent.batch.relayed import RelayLink
from muster.agent.batch.sent_outputs import NO_TIME, SentOutputs
from muster.agent.batch.spool import Gang, Spool

pytestmark = pytest.mark.timeout(60)
KEY, TASK, OTHER, TOKEN = "job.1", "job.1.worker.0", "job.1.worker.1", "a token"
LARGE = bytes(range(256)) * 6000
"""More than two pieces."""
Ask = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    spool = Spool(str(tmp_path / "login"))
    spool.make()
    return spool


@pytest.fixture
def gang(spool: Spool) -> Gang:
    return _gang(spool, 4 << 20)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The task's working folder on its node."""
    folder = tmp_path / "node"
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "weights.bin").write_bytes(LARGE)
    (folder / "model" / "empty").touch()
    (folder / "notes.txt").write_text("fine")
    return folder


def test_matching_files_arrive_with_their_bytes_and_times(spool: Spool, gang: Gang, node: Path) -> None:
    _send(_asking(Relay(spool)), node, "model/")

    work = _work(gang)
    assert (work / "model" / "weights.bin").read_bytes() == LARGE
    assert (work / "model" / "empty").read_bytes() == b""
    times = [(folder / "model" / "weights.bin").stat().st_mtime for folder in (node, work)]
    assert times[0] == pytest.approx(times[1])
    assert not (work / "notes.txt").exists()
    assert read_told(gang, TASK) == {"left_out": [], "skipped": 0, "too_deep": 0, "problem": ""}


def test_files_beyond_the_limit_of_the_gang_are_left_out_by_name(spool: Spool, node: Path) -> None:
    gang = _gang(spool, len(LARGE) + 2)
    ask = _asking(Relay(spool))
    _send(ask, node, "model/", "notes.txt")

    assert _names(_work(gang)) == ["empty", "weights.bin"]
    assert _told(gang)["left_out"] == ["notes.txt"]
    SentOutputs(OTHER, str(node), ask, lambda: True).send(["model/"])
    assert _told(gang, OTHER)["left_out"] == ["model/weights.bin"], "tasks of one gang share its limit"


def test_limit_holds_when_the_agent_was_started_again(spool: Spool, node: Path) -> None:
    gang = _gang(spool, len(LARGE) + 2)
    _send(_asking(Relay(spool)), node, "model/")

    SentOutputs(OTHER, str(node), _asking(Relay(spool)), lambda: True).send(["notes.txt"])

    assert _told(gang, OTHER)["left_out"] == ["notes.txt"]


def test_full_disk_of_the_login_node_is_told_and_leaves_no_part(spool: Spool, gang: Gang, node: Path) -> None:
    free = iter([1 << 40, 1 << 40, 1 << 40, 0])
    ask = _asking(Relay(spool, KeptOutputs(lambda _: next(free, 0))))
    _send(ask, node, "model/", "notes.txt")

    assert _names(_work(gang)) == ["empty"]
    assert not (Path(gang.task_folder(TASK)) / "output.partial").exists()
    told = _told(gang)["problem"]
    assert "model/weights.bin and 1 more" in told
    assert "No space left on device" in told
    ask({"what": "mark", "task": TASK, "name": "end", "mark": {"code": 0}})
    assert gang.mark(TASK, "end") == {"code": 0}, "the end of the task is known all the same"


def test_what_there_was_no_time_for_is_told(spool: Spool, gang: Gang, node: Path) -> None:
    pieces = iter([True, True])
    SentOutputs(TASK, str(node), _asking(Relay(spool)), lambda: next(pieces, False)).send(["model/", "notes.txt"])

    assert _names(_work(gang)) == ["empty"], "a file that did not arrive as a whole is no output"
    assert NO_TIME in _told(gang)["problem"]


def test_task_that_told_nothing_was_ended_before_it_could(gang: Gang) -> None:
    assert "was ended before" in _told(gang)["problem"]


def test_nothing_is_missing_in_a_shared_folder(spool: Spool) -> None:
    assert read_told(_gang(spool, None), TASK) is None


def test_piece_whose_answer_was_lost_is_sent_again(spool: Spool, gang: Gang) -> None:
    ask = _asking(Relay(spool))
    for piece in (_piece(0, b"one"), _piece(0, b"one"), _piece(3, b"two"), _piece(3, b"two")):
        assert ask(piece) == {"taken": True}
    assert (_work(gang) / "file").read_bytes() == b"onetwo"


@pytest.mark.parametrize("path", ["../escaped", "/tmp/escaped", "a/../../escaped", "", "."])
def test_names_that_lead_out_are_refused(spool: Spool, gang: Gang, path: str) -> None:
    answer = _asking(Relay(spool))({**_piece(0, b"whole!"), "path": path})
    assert "taken" not in answer
    assert not list(Path(gang.folder).rglob("escaped"))


@pytest.mark.parametrize("path", ["link/escaped", "link"])
def test_links_at_the_login_node_are_not_followed(spool: Spool, gang: Gang, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    _work(gang).mkdir(parents=True)
    (_work(gang) / "link").symlink_to(outside)

    _asking(Relay(spool))({**_piece(0, b"whole!"), "path": path})

    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [{"size": 2}, {"offset": -1}, {"mtime": float("nan")}, {"mtime": "now"}, {"offset": 5}, {"task": "x.1.w.0"}],
)
def test_pieces_that_make_no_sense_are_refused(spool: Spool, gang: Gang, wrong: dict[str, Any]) -> None:
    assert "problem" in _asking(Relay(spool))({**_piece(0, b"one"), **wrong})


def _gang(spool: Spool, limit: int | None) -> Gang:
    gang = spool.gang(KEY)
    gang.write_facts({"tasks": [TASK, OTHER], "token": TOKEN, LIMIT: limit})
    return gang


def _asking(relay: Relay) -> Ask:
    return RelayLink(f"127.0.0.1,{relay.port}", TOKEN, KEY).ask


def _send(ask: Ask, node: Path, *patterns: str) -> None:
    SentOutputs(TASK, str(node), ask, lambda: True).send(patterns)


def _piece(offset: int, data: bytes) -> dict[str, Any]:
    return {"what": "output", "task": TASK, "path": "file", "offset": offset, "size": 6, "mtime": 1.5, "data": data}


def _work(gang: Gang) -> Path:
    return Path(gang.task_folder(TASK)) / "work"


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def _told(gang: Gang, task: str = TASK) -> dict[str, Any]:
    told = read_told(gang, task)
    assert told is not None
    return told
