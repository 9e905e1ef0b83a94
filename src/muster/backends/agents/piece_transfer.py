"""The server's side of the one protocol by which bytes go to nodes and come from them: in pieces at offsets, several of
them on their way, resumed over the next connection where the last one broke off.

The agent's side is `muster.agent.files.pieces`. What is sent and where it goes is known to the callers, who give the
question that is asked for each piece.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Protocol

from muster.agent.system.frames import Message
from muster.backends.agents.flow_control import Pace


class AskNode(Protocol):
    """Ask the agent of a node for an operation."""

    def __call__(self, node: str, op: str, /, **arguments: object) -> Awaitable[Message]: ...


AskPiece = Callable[..., Awaitable[Message]]
"""Asks for one operation whose other arguments are known; `offset`, and `data` or `limit`, are added for each piece."""
ReadPiece = Callable[[int, int], Awaitable[bytes]]
"""Returns bytes from an offset; the second argument says how many."""


async def send(
    ask: AskPiece, read: ReadPiece, start: int, end: int, pace: Pace, moved: Callable[[int, bool], None]
) -> None:
    """Write the bytes from `start` to `end`. After each answer `moved` is called with the number of bytes that the
    receiver has, and with whether it wrote the piece. It does not write a piece that begins elsewhere than its bytes
    end; unless `moved` raises, sending goes on from there. No bytes are sent as one empty piece, which makes an empty
    file."""

    async def written(offset: int, size: int) -> Mapping[str, object]:
        return {"offset": offset, "data": await read(offset, size)}

    position = start
    is_first = True
    while is_first or position < end:
        is_first = False
        async with aclosing(_pipelined(ask, written, position, end, pace)) as answers:
            async for last, answer in answers:
                position = int(answer["size"])
                moved(position, bool(answer["written"]))
                if position != last:
                    break


async def fetch(ask: AskPiece, start: int, end: int, pace: Pace, take: Callable[[bytes], None]) -> None:
    """Read the bytes from `start` to `end`; `take` gets them in order, on a thread. It ends early if the file does."""

    async def wanted(offset: int, size: int) -> Mapping[str, object]:
        return {"offset": offset, "limit": size}

    position = start
    if start >= end:
        return
    async with aclosing(_pipelined(ask, wanted, start, end, pace)) as answers:
        async for last, answer in answers:
            data = answer["data"]
            await asyncio.to_thread(take, data)
            position += len(data)
            if position != last:
                return


async def commit(ask: AskPiece) -> None:
    """Make the receiver check the whole file, in steps, as that may take long."""
    while not (await ask())["done"]:
        pass


async def _pipelined(
    ask: AskPiece,
    arguments: Callable[[int, int], Awaitable[Mapping[str, object]]],
    start: int,
    end: int,
    pace: Pace,
) -> AsyncGenerator[tuple[int, Message]]:
    """The answers for all pieces in order, each with where its piece ends. As much is on its way as the pace allows."""
    asked = answered = start
    is_first = True
    pieces: deque[tuple[int, asyncio.Future[Message]]] = deque()
    try:
        while is_first or answered < end:
            while is_first or (asked < end and asked + pace.piece <= answered + pace.window):
                is_first = False
                size = min(pace.piece, end - asked)
                request = partial(ask, **await arguments(asked, size))
                asked += size
                pieces.append((asked, asyncio.ensure_future(pace.timed(size, request))))
            answered, answer = pieces[0]
            yield answered, await answer
            pieces.popleft()
    finally:
        left = [answer for _, answer in pieces]
        for answer in left:
            answer.cancel()
        await asyncio.gather(*left, return_exceptions=True)
