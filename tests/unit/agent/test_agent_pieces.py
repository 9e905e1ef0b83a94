"""Pieces are written in the order in which they came, whichever thread takes which."""

import os
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.agent.errors import AgentError
from muster.agent.files import confined
from muster.agent.files.pieces import PartialFile, PieceOrder, read_piece, version
from muster.agent.tasks.logs import line_start
from muster.lib.file_tails import tail_offset
from muster.ports import files as port

pytestmark = pytest.mark.fast


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def run_all(work: list[Callable[[], Any]]) -> None:
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)


def test_pieces_taken_by_threads_in_any_order_become_the_file(tmp_path: Path, folder: int) -> None:
    order, partial = PieceOrder(), PartialFile("part", folder)
    pieces = [bytes([number]) * 100 for number in range(50)]
    work = [
        order.in_order("key", lambda at=number * 100, data=piece: partial.write(at, data))  # type: ignore[misc]
        for number, piece in enumerate(pieces)
    ]
    random.Random(7).shuffle(work)
    run_all(work)
    assert (tmp_path / "part").read_bytes() == b"".join(pieces)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another account")
def test_a_file_of_another_account_is_not_taken_for_a_partial_file(tmp_path: Path, folder: int) -> None:
    (tmp_path / "part").touch()
    os.chown(tmp_path / "part", 1234, 1234)
    with pytest.raises(AgentError, match="belongs to another account"):
        PartialFile("part", folder).write(0, b"bytes")
    assert (tmp_path / "part").read_bytes() == b""


def test_a_piece_that_fails_is_told_to_who_sent_it_only() -> None:
    order = PieceOrder()

    def fails() -> dict[str, Any]:
        raise OSError("full")

    first, second = order.in_order("key", fails), order.in_order("key", lambda: {"size": 1})
    assert second() == {"size": 1}
    with pytest.raises(OSError, match="full"):
        first()
    assert order.in_order("key", lambda: {"size": 2})() == {"size": 2}
    assert not order.lock("key").locked()


def test_a_piece_out_of_place_says_where_the_bytes_end(folder: int) -> None:
    partial = PartialFile("part", folder)
    assert partial.size() is None
    assert partial.write(5, b"x") == {"size": 0, "written": False}
    assert partial.write(0, b"abc") == {"size": 3, "written": True}
    assert partial.write(0, b"abc") == {"size": 3, "written": False}
    partial.remove()
    partial.remove()
    assert partial.size() is None


def test_a_partial_file_with_a_second_name_is_not_written_to(tmp_path: Path, folder: int) -> None:
    (tmp_path / "other").write_bytes(b"")
    os.link(tmp_path / "other", tmp_path / "part")
    with pytest.raises(AgentError, match="other names"):
        PartialFile("part", folder).write(0, b"x")
    assert (tmp_path / "other").read_bytes() == b""


def test_a_reader_can_ask_for_one_version_only(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    with path.open("rb") as file:
        wanted = version(os.fstat(file.fileno()))
        assert read_piece(file.fileno(), 2, 3, wanted)["data"] == b"cde"
        assert read_piece(file.fileno(), 9, 3, wanted)["data"] == b""
        path.write_bytes(b"abcdefg")
        with pytest.raises(AgentError) as refused:
            read_piece(file.fileno(), 2, 3, wanted)
    assert refused.value.code == "changed"


@given(
    data=st.lists(st.sampled_from([b"\n", b"a", b"bc" * 40_000]), max_size=12).map(b"".join), lines=st.integers(0, 9)
)
def test_the_server_and_the_agent_find_the_same_tail(
    data: bytes, lines: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "tail"
    path.write_bytes(data)
    with path.open("rb") as file:
        found = tail_offset(file.fileno(), len(data), lines)
        assert found == line_start(file.fileno(), len(data), lines)
    assert (
        data[found:].splitlines()
        == (data.split(b"\n")[:-1] if data.endswith(b"\n") else data.split(b"\n"))[
            max(0, len(data.split(b"\n")) - data.endswith(b"\n") - lines) :
        ]
        or not data
    )


def test_the_platform_knows_how_deep_the_agent_goes() -> None:
    assert port.MAX_DEPTH == confined.MAX_DEPTH
