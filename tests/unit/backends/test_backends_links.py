"""Frames leave at once or together, never late, and a line that breaks fails whoever waits on it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from muster.agent.system.frames import FrameDecoder, Message, encode
from muster.backends.agents.agent_channel import AgentLink
from muster.domain.errors import CONNECTION_LOST, BackendError

pytestmark = pytest.mark.fast


class Line:
    """Answers every frame as soon as it is written, and keeps what was written each time."""

    def __init__(self) -> None:
        self.writes: list[list[Message]] = []
        self.breaks_at: int | None = None
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()

    def write(self, data: bytes) -> None:
        if len(self.writes) == self.breaks_at:
            raise BrokenPipeError
        self.writes.append(FrameDecoder().feed(data))
        for message in self.writes[-1]:
            self._answers.put_nowait(encode({"id": message["id"], "ok": True, "op": message["op"]}))

    async def read(self, n: int) -> bytes:
        return await self._answers.get()


def driven(line: Line, drive: Callable[[AgentLink], Awaitable[None]]) -> None:
    async def all_of_it() -> None:
        link = AgentLink("n1", line, line, lambda message: None)
        reading = asyncio.create_task(link.run())
        try:
            async with asyncio.timeout(60):
                await drive(link)
        finally:
            reading.cancel()

    asyncio.run(all_of_it())


def test_a_single_frame_leaves_at_once() -> None:
    line = Line()

    async def drive(link: AgentLink) -> None:
        asking = asyncio.create_task(link.ask("launch"))
        await asyncio.sleep(0)
        assert [[frame["op"] for frame in write] for write in line.writes] == [["launch"]]
        assert (await asking)["op"] == "launch"

    driven(line, drive)


def test_frames_of_one_turn_leave_in_two_writes_and_in_order() -> None:
    line = Line()

    async def drive(link: AgentLink) -> None:
        answers = await asyncio.gather(*(link.ask(f"op{number}") for number in range(5)))
        assert [answer["op"] for answer in answers] == [f"op{number}" for number in range(5)]

    driven(line, drive)
    assert [[frame["op"] for frame in write] for write in line.writes] == [["op0"], ["op1", "op2", "op3", "op4"]]


def test_a_line_that_breaks_under_the_later_frames_fails_all_who_wait() -> None:
    line = Line()
    line.breaks_at = 1

    async def drive(link: AgentLink) -> None:
        answers = await asyncio.gather(*(link.ask("op") for _ in range(3)), return_exceptions=True)
        assert all(isinstance(one, BackendError) and one.reason == CONNECTION_LOST for one in answers[1:])
        with pytest.raises(BackendError, match="the connection to the agent on n1 is gone"):
            await link.ask("later")

    driven(line, drive)
