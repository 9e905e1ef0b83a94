"""Files of people, against the agent's real operations over a connection that breaks."""

import asyncio
import hashlib
import itertools
import os
from pathlib import Path
from typing import Any, cast

import pytest

from muster.agent.errors import AgentError
from muster.agent.files.operations import Filing
from muster.backends.agents.connection import AgentNode
from muster.backends.agents.flow_control import Pace
from muster.backends.agents.remote_files import AgentFiles
from muster.domain.errors import BackendError, Unreachable
from muster.ports.files import Place, Upload, WrongOffset

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
DATA = os.urandom(900_000)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Agent:
    """The answers to these questions are lost, after the work is done."""

    def __init__(self, *lost: int) -> None:
        self.inward, self.outward = Pace(), Pace()
        self._operations = Filing().operations()
        self._lost = set(lost)
        self.asked = 0
        self.hello: dict[str, Any] = {}

    async def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        self.asked += 1
        number = self.asked
        try:
            answer = self._operations[op]({"op": op, **arguments})()
        except AgentError as error:
            raise BackendError(error.message, reason=error.code) from None
        if number in self._lost:
            raise Unreachable("gone")
        return answer


def files_of(agent: Agent) -> AgentFiles:
    async def own_account(_: AgentNode, user: str) -> None:
        return None

    return AgentFiles(lambda _: cast("AgentNode", agent), own_account)


def upload_of(data: bytes) -> Upload:
    return Upload("upload00", len(data), hashlib.sha256(data).hexdigest())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place("n1", str(tmp_path), "file", "lab:data/file", None)


@pytest.mark.parametrize("lost", [(), (1,), (2, 3), (3, 4, 9)])
async def test_a_file_arrives_although_answers_are_lost(place: Place, tmp_path: Path, lost: tuple[int, ...]) -> None:
    files, upload = files_of(Agent(*lost)), upload_of(DATA)
    assert await files.write(place, upload, 0, DATA) == len(DATA)
    assert await files.commit(place, upload)
    assert (tmp_path / "file").read_bytes() == DATA


async def test_pieces_keep_their_order_however_long_it_takes_to_find_the_account(tmp_path: Path) -> None:
    agent, waits = Agent(), itertools.cycle((0.03, 0.02, 0.01, 0.0))

    async def account(_: AgentNode, user: str) -> None:
        await asyncio.sleep(next(waits))

    agent.hello = {"uid": 0}
    files, upload = AgentFiles(lambda _: cast("AgentNode", agent), account), upload_of(DATA)
    of_user = Place("n1", str(tmp_path), "file", "lab:data/file", "amy")
    assert await files.write(of_user, upload, 0, DATA) == len(DATA)
    assert await files.commit(of_user, upload)
    assert (tmp_path / "file").read_bytes() == DATA


async def test_a_piece_that_was_written_before_is_refused_with_the_right_offset(place: Place) -> None:
    files, upload = files_of(Agent()), upload_of(DATA)
    await files.write(place, upload, 0, DATA[:4])
    for offset in (0, 3, 5):
        with pytest.raises(WrongOffset) as refused:
            await files.write(place, upload, offset, DATA[offset : offset + 4])
        assert refused.value.received == 4


async def test_an_empty_file_is_a_file(place: Place, tmp_path: Path) -> None:
    files, upload = files_of(Agent()), upload_of(b"")
    await files.write(place, upload, 0, b"")
    assert await files.commit(place, upload)
    assert (tmp_path / "file").read_bytes() == b""
