"""The loop of the monitor: rounds of checks, couriers, canaries, the digest of the week, and the ping after each round.

Intervals are measured by a clock that never jumps. Only the day of the digest and the times in notices are those of the
clock on the wall. What is to be told is in the state file before anybody is told.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from muster.lib.clock import Clock, wall_clock
from muster.lib.daemon_threads import on_daemon_thread
from muster.lib.ids import new_id
from muster.monitor.canary import Canary, CanaryJob
from muster.monitor.couriers import Courier, Way
from muster.monitor.gathering import gathered
from muster.monitor.pinging import NotPinged
from muster.monitor.receiver_calls import Receiver
from muster.monitor.receiver_checks import ReceiverChecks
from muster.monitor.rounds import Damping, Round, Ways, concluded, told, with_stories
from muster.monitor.state import MonitorState, ReceiverState
from muster.monitor.state_file import write_state
from muster.monitor.stories import Availability, DigestStory, Figures, Story
from muster.monitor.week import WeeklyTime, digest_turn

_log = structlog.get_logger("monitor")
_WEEK_S = 7 * 86400.0
Gather = Callable[[Sequence[Receiver], Mapping[str, str], float, float], Awaitable[tuple[Figures, ...]]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What the monitor does. `ping` blocks and raises NotPinged."""

    receivers: tuple[Receiver, ...]
    interval_s: float
    timeout_s: float
    damping: Damping
    ways: tuple[Way, ...]
    weekly: WeeklyTime | None
    state_file: Path
    canary: CanaryJob | None = None
    ping: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Clocks:
    wall: Clock = wall_clock
    steady: Clock = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep)


class Monitor:
    def __init__(
        self,
        plan: Plan,
        state: MonitorState,
        clocks: Clocks = Clocks(),
        gather: Gather = gathered,
    ) -> None:
        self._plan = plan
        self._clocks = clocks
        self._gather = gather
        self._ways = Ways({way.name: way.about for way in plan.ways})
        self._checks = ReceiverChecks(plan.receivers, plan.timeout_s)
        self._canaries = {one.title: Canary(one, plan.canary) for one in plan.receivers if plan.canary and one.token}
        self.state = _fitted(state, plan, self._canaries.keys())
        self._round_steady: float | None = None
        self._digest_steady: float | None = None
        self._more = asyncio.Event()
        self._is_saved = True

    async def run(self) -> None:
        """Ends only if it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for courier in self.couriers():
                group.create_task(courier.run(), name="courier")
            for canary in self._canaries.values():
                group.create_task(canary.run(), name="canary")
            group.create_task(self._again_and_again(self.weekly), name="digest")
            group.create_task(self._again_and_again(self.round), name="rounds")

    def couriers(self) -> list[Courier]:
        found = (self._next_story, self._delivered, self._failed, self._clocks.sleep)
        return [Courier(way, *found) for way in self._plan.ways]

    async def _again_and_again(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            began = self._clocks.steady()
            try:
                await work()
            except Exception:  # a mistake in one round must not end the monitor; the ping is left out then
                _log.exception("a round was not completed")
            await self._clocks.sleep(max(0.0, began + self._plan.interval_s - self._clocks.steady()))

    async def round(self) -> None:
        """One check of every receiver, and all that follows from it."""
        outcomes = await self._checks.round()
        canaries = {title: ended for title, one in self._canaries.items() if (ended := one.taken()) is not None}
        now, steady = self._clocks.wall(), self._clocks.steady()
        addresses = {receiver.title: receiver.url for receiver in self._plan.receivers}
        found = Round(now, self._elapsed_s(now, steady), addresses, outcomes, canaries)
        self._round_steady = steady
        for title, canary in self._canaries.items():
            if outcomes[title].reason is None:
                canary.ask(steady)
        self.state = concluded(self.state, found, self._plan.damping, self._ways, new_id)
        self._save()
        self._more.set()
        for title, outcome in (*outcomes.items(), *canaries.items()):
            if outcome.reason is not None:
                _log.warning("a check failed", receiver=title, code=outcome.reason.code, step=outcome.reason.step)
        await self._ping()

    def _elapsed_s(self, now: float, steady: float) -> float:
        """The seconds since the last round, which may have been that of a monitor before this one."""
        if self._round_steady is not None:
            return steady - self._round_steady
        last = self.state.round_at
        return 0.0 if last is None else min(max(0.0, now - last), _WEEK_S)

    async def weekly(self) -> None:
        """Makes the digest if it is due. What it tells is asked for before anything is recorded, so that a monitor
        that is killed meanwhile makes it again."""
        weekly = self._plan.weekly
        if weekly is None:
            return
        now, steady = self._clocks.wall(), self._clocks.steady()
        since_last_s = None if self._digest_steady is None else steady - self._digest_steady
        turn = digest_turn(weekly, self.state.digest_due, now, since_last_s)
        if turn.is_due:
            known = {title: one.installation for title, one in self.state.receivers.items()}
            figures = await self._gather(self._plan.receivers, known, now - _WEEK_S, now)
            rows = tuple(_availability(title, one) for title, one in self.state.receivers.items())
            story = DigestStory(new_id(), now, now - _WEEK_S, rows, figures)
            fresh = {title: _new_week(one) for title, one in self.state.receivers.items()}
            state = replace(self.state, receivers=fresh, digest_due=turn.due, digest_at=now)
            self.state = with_stories(state, [story], self._ways)
            self._digest_steady = steady
        elif turn.due != self.state.digest_due:
            self.state = replace(self.state, digest_due=turn.due)
        else:
            return
        self._save()
        self._more.set()

    async def _next_story(self, way: str) -> Story:
        while True:
            for pending in self.state.pending:
                if way in pending.ways:
                    return pending.story
            self._more.clear()
            await self._more.wait()

    def _delivered(self, way: str, story: Story) -> None:
        self.state = told(self.state, story.id, way)
        self._save()

    def _failed(self, way: str, problem: str) -> None:
        problems = {name: said for name, said in self.state.problems.items() if name != way}
        self.state = replace(self.state, problems=problems | ({way: problem} if problem else {}))

    def _save(self) -> None:
        try:
            write_state(self._plan.state_file, self.state)
        except OSError as error:
            _log.error("the state cannot be written", file=str(self._plan.state_file), error=error.strerror)
            self._is_saved = False
        else:
            self._is_saved = True

    async def _ping(self) -> None:
        """Pings, except while the state cannot be written: whoever misses the ping looks here."""
        if self._plan.ping is None or not self._is_saved:
            return
        try:
            async with asyncio.timeout(self._plan.interval_s):  # whoever does not answer must not stop the rounds
                await on_daemon_thread(self._plan.ping, "ping")
        except (NotPinged, TimeoutError) as error:
            _log.warning("the ping failed", error=str(error) or "it did not end within the interval")


def _fitted(state: MonitorState, plan: Plan, canaries: Collection[str]) -> MonitorState:
    """The state without ways and canaries that are no longer there: nobody would ever take the stories of these ways,
    and nothing would tell that the canary is well again."""
    names = {way.name for way in plan.ways}
    kept = [replace(one, ways=tuple(name for name in one.ways if name in names)) for one in state.pending]
    pending = tuple(one for one in kept if one.ways)
    receivers = {
        title: replace(one, canary_failed=one.canary_failed and title in canaries)
        for title, one in state.receivers.items()
    }
    return replace(state, receivers=receivers, pending=pending, interval_s=plan.interval_s, problems={})


def _availability(title: str, one: ReceiverState) -> Availability:
    return Availability(title, one.checks, one.failed_checks, one.outages, one.down_s, one.is_down)


def _new_week(one: ReceiverState) -> ReceiverState:
    return replace(one, checks=0, failed_checks=0, outages=0, down_s=0.0)
