"""Bytes to and from a receiver that is only a list: they arrive whole, whatever the connection does."""

import asyncio
import os
from typing import Any

import pytest

from muster.backends.agents.flow_control import PIECE_BYTES, Pace, patiently
from muster.backends.agents.piece_transfer import commit, fetch, send
from muster.domain.errors import BackendError, Unreachable

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
DATA = os.urandom(10 * PIECE_BYTES + 7)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Receiver:
    """Writes as the agent does. After each of these numbers of questions, the answer to one is lost."""

    def __init__(self, *lost: int, received: bytes = b"") -> None:
        self.content = bytearray(received)
        self.lost = set(lost)
        self.asked = 0

    async def write(self, *, offset: int, data: bytes) -> dict[str, Any]:
        await asyncio.sleep(0)
        self.asked += 1
        written = offset == len(self.content)
        if written:
            self.content += data
        if self.asked in self.lost:
            raise Unreachable("gone")
        return {"size": len(self.content), "written": written}

    async def read(self, *, offset: int, limit: int) -> dict[str, Any]:
        await asyncio.sleep(0)
        self.asked += 1
        if self.asked in self.lost:
            raise Unreachable("gone")
        return {"data": bytes(self.content[offset : offset + limit])}


async def read(offset: int, size: int) -> bytes:
    return DATA[offset : offset + size]


@pytest.mark.parametrize("received", [0, PIECE_BYTES, len(DATA)])
async def test_sending_goes_on_from_what_is_there_and_after_lost_answers(received: int) -> None:
    receiver = Receiver(3, 4, 9, received=DATA[:received])
    position = received

    def moved(size: int, _is_written: bool) -> None:
        nonlocal position
        position = size

    pace = Pace()
    await patiently(lambda: send(receiver.write, read, position, len(DATA), pace, moved), lambda: position)
    assert bytes(receiver.content) == DATA
    assert position == len(DATA)


async def test_a_receiver_that_has_more_than_was_thought_is_sent_the_rest() -> None:
    receiver = Receiver(received=DATA[:1000])
    moves: list[tuple[int, bool]] = []
    await send(receiver.write, read, 0, len(DATA), Pace(), lambda *move: moves.append(move))
    assert bytes(receiver.content) == DATA
    assert moves[0] == (1000, False)


async def test_no_bytes_are_one_empty_piece() -> None:
    receiver = Receiver()
    await send(receiver.write, read, 0, 0, Pace(), lambda _size, _is_written: None)
    assert receiver.asked == 1


@pytest.mark.parametrize("lost", [(), (2, 5, 6)])
async def test_what_is_fetched_comes_in_order(lost: tuple[int, ...]) -> None:
    sender, got, pace = Receiver(*lost, received=DATA), bytearray(), Pace()
    await patiently(lambda: fetch(sender.read, len(got), len(DATA), pace, got.extend), lambda: len(got))
    assert bytes(got) == DATA


async def test_fetching_ends_where_the_file_ends() -> None:
    sender, got = Receiver(received=DATA[:70_000]), bytearray()
    await fetch(sender.read, 0, len(DATA), Pace(), got.extend)
    assert bytes(got) == DATA[:70_000]
    await fetch(sender.read, 0, 0, Pace(), got.extend)
    assert len(got) == 70_000


async def test_a_commit_is_asked_for_until_it_is_done() -> None:
    answers = [{"done": False}, {"done": False}, {"done": True}]

    async def ask() -> dict[str, Any]:
        return answers.pop(0)

    await commit(ask)
    assert answers == []


async def test_a_connection_that_moves_nothing_is_given_up_and_one_that_moves_something_is_not() -> None:
    position = tries = 0

    async def step() -> None:
        nonlocal position, tries
        tries += 1
        position += tries < 20
        raise Unreachable("gone")

    with pytest.raises(BackendError):
        await patiently(step, lambda: position)
    assert 20 < tries < 30
