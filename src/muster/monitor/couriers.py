"""Takes stories to people, one courier for each way. What cannot be delivered is kept, and tried again with growing
pauses. Each way gets its stories in their order, so that no recovery overtakes its failure."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from muster.lib.backoff import exponential
from muster.lib.daemon_threads import on_daemon_thread
from muster.monitor.stories import Story
from muster.monitor.telling import Teller
from muster.ports.notifying import NotDelivered, Notifier

_log = structlog.get_logger("monitor")
_FIRST_PAUSE_S = 5.0
_LONGEST_PAUSE_S = 600.0


@dataclass(frozen=True, slots=True)
class Way:
    name: str
    notifier: Notifier
    teller: Teller
    about: frozenset[str]


async def deliver(way: Way, story: Story) -> str:
    """Returns what people should know about the delivery. Raises NotDelivered."""
    # It is waited for until it ends by itself: one that is left behind could deliver what is tried again.
    return await on_daemon_thread(lambda: way.notifier.send(way.teller.notice(story)), f"notice by {way.name}")


class Courier:
    """`next_story` waits for a story that is left for this way; `delivered` records that it is not left any more."""

    def __init__(
        self,
        way: Way,
        next_story: Callable[[str], Awaitable[Story]],
        delivered: Callable[[str, Story], None],
        failed: Callable[[str, str], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._way = way
        self._next_story = next_story
        self._delivered = delivered
        self._failed = failed
        self._sleep = sleep

    async def run(self) -> None:
        tries = 0
        while True:
            story = await self._next_story(self._way.name)
            facts = {"way": self._way.name, "kind": story.kind, "id": story.id}
            try:
                remark = await deliver(self._way, story)
            except NotDelivered as error:
                tries += 1
                pause_s = exponential(tries, first_s=_FIRST_PAUSE_S, limit_s=_LONGEST_PAUSE_S)
                self._failed(self._way.name, str(error))
                _log.warning("a notice could not be sent", error=str(error), again_in_s=pause_s, **facts)
                await self._sleep(pause_s)
                continue
            except Exception as error:  # a mistake of ours in one notice must not end the monitor
                _log.exception("a notice cannot be made, and is dropped", **facts)
                remark = f"notice {story.id} was dropped: {type(error).__name__}"
            else:
                _log.info("sent a notice", **facts)
            tries = 0
            if remark:
                _log.warning("not everybody got a notice", error=remark, **facts)
            self._failed(self._way.name, remark)
            self._delivered(self._way.name, story)
