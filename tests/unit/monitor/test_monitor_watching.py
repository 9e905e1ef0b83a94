"""The loop of the monitor: what is remembered, sent again and sent once, with clocks that the test moves."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from muster.domain.errors import Conflict
from muster.monitor.canary import Canary, CanaryJob
from muster.monitor.couriers import Way
from muster.monitor.outcomes import Outcome
from muster.monitor.pinging import NotPinged, Ping
from muster.monitor.receiver_calls import Receiver
from muster.monitor.rounds import Damping
from muster.monitor.state import MonitorState
from muster.monitor.state_file import only_monitor, opened_state, read_state
from muster.monitor.stories import Figures
from muster.monitor.telling import Teller
from muster.monitor.watching import Clocks, Monitor, Plan
from muster.monitor.week import WeeklyTime
from muster.ports.notifying import NotDelivered, Notice
from tests.parts.dripping import dripping
from tests.unit.client.tiny_server import Answer, Asked, Reply, TinyServer, problem

pytestmark = pytest.mark.fast

DAY = 86400.0
MONDAY_NOON = 4 * DAY + DAY / 2
"""1970-01-05 12:00 UTC."""
WELL = Answer(200, {"ready": True})
ALL = frozenset({"failure", "recovery", "digest"})


@dataclass
class Recorded:
    """A notifier that keeps what it gets, or refuses it."""

    notices: list[Notice] = field(default_factory=list)
    refusals: int = 0
    then: Callable[[], None] = lambda: None

    def send(self, notice: Notice) -> str:
        if self.refusals:
            self.refusals -= 1
            raise NotDelivered("the mail server is away")
        self.notices.append(notice)
        self.then()
        return ""

    @property
    def titles(self) -> list[str]:
        return [notice.title.removeprefix("[Muster] ") for notice in self.notices]


@dataclass
class FakeClocks:
    wall: float = MONDAY_NOON
    steady: float = 0.0
    slept: list[float] = field(default_factory=list)

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)

    @property
    def clocks(self) -> Clocks:
        return Clocks(lambda: self.wall, lambda: self.steady, self.sleep)


@dataclass
class World:
    server: TinyServer
    state_file: Path
    mail: Recorded = field(default_factory=Recorded)
    time: FakeClocks = field(default_factory=FakeClocks)
    asked: list[tuple[float, float]] = field(default_factory=list)
    ping: Callable[[], None] | None = None

    def monitor(self) -> Monitor:
        way = Way("mail", self.mail, Teller("en", "UTC", "watcher"), ALL)
        weekly = WeeklyTime(0, 9, 0, "UTC")
        receivers = (Receiver("a", self.server.url),)
        plan = Plan(receivers, 60.0, 20.0, Damping(1, 1), (way,), weekly, self.state_file, None, self.ping)
        return Monitor(plan, opened_state(self.state_file), self.time.clocks, self.gather)

    def quick_monitor(self, canary: CanaryJob | None) -> Monitor:
        """With the real clocks, and rounds that follow each other closely."""
        way = Way("mail", self.mail, Teller("en", "UTC", "watcher"), ALL)
        receivers = (Receiver("a", self.server.url, None, "mst_x"),)
        plan = Plan(receivers, 0.05, 20.0, Damping(1, 1), (way,), None, self.state_file, canary, self.ping)
        return Monitor(plan, opened_state(self.state_file))

    async def gather(
        self, receivers: Sequence[Receiver], _: Mapping[str, str], since: float, until: float
    ) -> tuple[Figures, ...]:
        self.asked.append((since, until))
        return ()

    def is_well(self, is_well: bool) -> None:
        answer = WELL if is_well else problem(503, "unavailable", "no database")
        self.server.on("GET", "/readyz", answer)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    server = TinyServer()
    server.on("GET", "/healthz", Answer(200, b"ok\n"))
    found = World(server, tmp_path / "monitor.json")
    found.is_well(True)
    yield found
    server.stop()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def delivered(monitor: Monitor) -> None:
    """Lets couriers run until nothing is left to be told."""
    (courier,) = monitor.couriers()
    task = asyncio.ensure_future(courier.run())
    await until(lambda: not monitor.state.pending)
    task.cancel()


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def all_of_it() -> None:
        await work()

    asyncio.run(all_of_it())


def test_one_notice_on_failure_and_one_on_recovery_also_over_restarts(world: World) -> None:
    async def play() -> None:
        for is_well in (True, False, False, False, True, True):
            world.is_well(is_well)
            monitor = world.monitor()  # every round is that of a new process
            await monitor.round()
            await delivered(monitor)
            world.time.pass_(60.0)

    run(play)
    assert world.mail.titles == ["a is down", "a works again, after 3m"]


def test_what_was_not_sent_is_kept_over_a_kill_and_sent_with_the_same_id(world: World) -> None:
    world.is_well(False)
    run(lambda: world.monitor().round())  # killed before anything was sent
    kept = read_state(world.state_file)
    assert kept is not None
    (pending,) = kept.pending

    async def again() -> None:
        monitor = world.monitor()
        await monitor.round()
        await delivered(monitor)

    run(again)
    assert [notice.id for notice in world.mail.notices] == [pending.story.id]
    state = read_state(world.state_file)
    assert state is not None
    assert state.pending == ()


def test_a_kill_between_sending_and_recording_repeats_that_one_only(world: World) -> None:
    async def first() -> None:
        world.is_well(False)
        monitor = world.monitor()
        await monitor.round()
        monitor._save = lambda: None  # type: ignore[method-assign]  # nothing is recorded any more
        await delivered(monitor)

    async def second() -> None:
        monitor = world.monitor()
        await monitor.round()
        await delivered(monitor)
        await monitor.round()
        await delivered(monitor)

    run(first)
    run(second)
    assert len({notice.id for notice in world.mail.notices}) == 1
    assert world.mail.titles == ["a is down", "a is down"]


def test_a_mail_that_cannot_be_sent_is_tried_again_with_growing_pauses(world: World) -> None:
    async def play() -> None:
        world.is_well(False)
        world.mail.refusals = 9
        monitor = world.monitor()
        await monitor.round()
        await delivered(monitor)

    run(play)
    assert world.mail.titles == ["a is down"]
    assert world.time.slept == [5, 10, 20, 40, 80, 160, 320, 600, 600]


def test_a_recovery_never_overtakes_its_failure(world: World) -> None:
    async def play() -> None:
        monitor = world.monitor()
        world.mail.refusals = 3
        for is_well in (False, True):
            world.is_well(is_well)
            await monitor.round()
        await delivered(monitor)

    run(play)
    assert world.mail.titles == ["a is down", "a works again, after 0s"]


def test_the_digest_comes_every_monday_without_any_failure(world: World) -> None:
    async def play() -> None:
        monitor = world.monitor()
        await monitor.round()
        for hour in range(24 * 22):
            if hour % 24 == 5:
                monitor = world.monitor()  # restarted every day
                await monitor.round()
            await monitor.weekly()
            await delivered(monitor)
            world.time.pass_(3600.0)

    run(play)
    assert world.mail.titles == [f"Week until 1970-01-{day} 09:00:00 UTC" for day in (12, 19, 26)]
    assert world.asked[0] == (11 * DAY + DAY * 9 / 24 - 7 * DAY, 11 * DAY + DAY * 9 / 24)
    assert "100 % of" in world.mail.notices[0].text


def test_a_clock_that_jumps_causes_neither_a_flood_nor_silence(world: World) -> None:
    async def play() -> None:
        monitor = world.monitor()
        for jump in (365 * DAY, -365 * DAY, 40 * DAY, -40 * DAY, -100 * DAY, 100 * DAY):
            world.time.wall += jump
            await monitor.round()
            await monitor.weekly()
            await delivered(monitor)
            world.time.pass_(60.0)
        assert len(world.mail.titles) <= 1
        before = len(world.mail.titles)
        for _ in range(8 * 24):
            await monitor.weekly()
            await delivered(monitor)
            world.time.pass_(3600.0)
        assert len(world.mail.titles) == before + 1

    run(play)


def test_the_week_begins_anew_after_a_digest(world: World) -> None:
    async def play() -> None:
        monitor = world.monitor()
        await monitor.round()
        await monitor.weekly()
        world.time.pass_(7 * DAY)
        await monitor.weekly()
        await monitor.round()
        assert monitor.state.receivers["a"].checks == 1

    run(play)


def test_the_ping_follows_each_completed_round(world: World) -> None:
    world.server.on("GET", "/ping", Answer(200, b"ok"))
    world.ping = Ping(f"{world.server.url}/api/v1/ping", 20.0)
    run(lambda: world.monitor().round())
    assert len(world.server.requests("GET", "/ping")) == 1


def test_a_ping_that_fails_ends_nothing_and_tells_no_secret(world: World) -> None:
    ping = Ping(f"{world.server.url}/api/v1/s3cret", 20.0)
    with pytest.raises(NotPinged, match=r"127\.0\.0\.1 answered 404") as failed:
        ping()
    assert "s3cret" not in f"{failed.value}{ping!r}"
    world.ping = ping
    run(lambda: world.monitor().round())


def test_a_ping_that_is_never_answered_to_its_end_is_given_up(world: World) -> None:
    with dripping() as port:
        ping = Ping(f"http://127.0.0.1:{port}/s3cret", 0.3)
        with pytest.raises(NotPinged, match="it did not answer in time"):
            ping()


def test_a_ping_to_an_address_that_leads_nowhere_ends_nothing(world: World) -> None:
    world.ping = Ping("http://a..b/", 20.0)
    run(lambda: world.monitor().round())


def test_a_ping_that_hangs_does_not_stop_the_rounds(world: World) -> None:
    free = threading.Event()

    def hang() -> None:
        free.wait(60)

    world.ping = hang
    monitor = world.quick_monitor(None)

    async def play() -> None:
        await monitor.round()
        await monitor.round()

    run(play)
    free.set()
    assert monitor.state.rounds == 2


def test_a_state_that_cannot_be_written_stops_the_ping_and_nothing_else(world: World) -> None:
    pings: list[int] = []
    world.ping = lambda: pings.append(1)
    world.state_file.mkdir()
    world.state_file.joinpath("full").touch()
    world.is_well(False)

    async def play() -> None:
        way = Way("mail", world.mail, Teller("en", "UTC", "watcher"), ALL)
        plan = Plan(
            (Receiver("a", world.server.url),),
            60.0,
            20.0,
            Damping(1, 1),
            (way,),
            None,
            world.state_file,
            None,
            world.ping,
        )
        monitor = Monitor(plan, MonitorState(), world.time.clocks, world.gather)
        await monitor.round()
        await delivered(monitor)

    run(play)
    assert (pings, world.mail.titles) == ([], ["a is down"])


def test_a_state_that_is_damaged_is_put_aside(tmp_path: Path) -> None:
    file = tmp_path / "monitor.json"
    for damaged in (b"", b"{", b'{"receivers": 3}', b"\xff\xfe", b"[]"):
        file.write_bytes(damaged)
        assert opened_state(file) == MonitorState()
        assert (tmp_path / "monitor.json.unreadable").read_bytes() == damaged
        assert not file.exists()


def test_a_state_survives_writing_and_reading(world: World) -> None:
    async def play() -> None:
        world.is_well(False)
        monitor = world.monitor()
        await monitor.round()
        await monitor.weekly()
        world.is_well(True)
        await monitor.round()
        world.time.pass_(7 * DAY)
        await monitor.weekly()
        assert [one.story.kind for one in monitor.state.pending] == ["failure", "recovery", "digest"]
        assert read_state(world.state_file) == monitor.state

    run(play)
    assert json.loads(world.state_file.read_text())["format"] == 1
    assert world.state_file.stat().st_mode & 0o777 == 0o600


def test_two_monitors_do_not_share_a_state(tmp_path: Path) -> None:
    with (
        only_monitor(tmp_path / "s.json"),
        pytest.raises(Conflict, match="another monitor uses"),
        only_monitor(tmp_path / "s.json"),
    ):
        pass
    with only_monitor(tmp_path / "s.json"):
        pass


def test_a_way_that_hangs_keeps_no_other_from_its_notices(world: World) -> None:
    released = threading.Event()

    def hang() -> None:
        released.wait(60)

    hanging, working = Recorded(then=hang), Recorded()
    world.is_well(False)

    async def play() -> None:
        ways = tuple(Way(name, one, Teller("en", "UTC", "w"), ALL) for name, one in (("x", hanging), ("y", working)))
        plan = Plan((Receiver("a", world.server.url),), 60.0, 20.0, Damping(1, 1), ways, None, world.state_file)
        monitor = Monitor(plan, MonitorState())
        running = asyncio.ensure_future(monitor.run())
        await until(lambda: bool(working.notices))
        await until(lambda: [one.ways for one in monitor.state.pending] == [("x",)])
        released.set()
        await until(lambda: not monitor.state.pending)
        running.cancel()

    run(play)


CANARY = CanaryJob(3600.0, 60.0, "watcher", {"command": "true"})
BUSY = problem(503, "unavailable", "no database")
QUEUED = Answer(200, {"id": "j1", "state": "Queued"})
SUCCEEDED = Answer(200, {"id": "j1", "state": "Succeeded"})


def with_canaries(server: TinyServer, *answers: Reply) -> None:
    server.on("POST", "/server/write-check", WELL)
    server.on("GET", "/jobs", Answer(200, {"items": []}))
    server.on("POST", "/jobs", *answers)


@asynccontextmanager
async def at_work(monitor: Monitor) -> AsyncIterator[None]:
    running = asyncio.ensure_future(monitor.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


def submitted(server: TinyServer) -> int:
    return len(server.requests("POST", "/jobs"))


def test_a_canary_that_failed_is_repeated_soon_and_one_that_succeeded_when_it_is_due(world: World) -> None:
    with_canaries(world.server, BUSY, BUSY, SUCCEEDED)

    async def play() -> None:
        async with at_work(world.quick_monitor(CANARY)):
            await until(lambda: len(world.mail.notices) == 2)
            rounds = len(world.server.requests("POST", "/server/write-check"))
            await until(lambda: len(world.server.requests("POST", "/server/write-check")) > rounds + 3)

    run(play)
    assert [title.partition(",")[0] for title in world.mail.titles] == ["a is down", "a works again"]
    assert submitted(world.server) == 3


def test_no_canary_is_begun_while_the_receiver_is_away(world: World) -> None:
    with_canaries(world.server, SUCCEEDED)
    world.is_well(False)

    async def play() -> None:
        monitor = world.quick_monitor(CANARY)
        async with at_work(monitor):
            await until(lambda: monitor.state.rounds >= 3)
            assert submitted(world.server) == 0
            world.is_well(True)
            await until(lambda: submitted(world.server) == 1)

    run(play)


def test_a_failed_canary_is_known_after_a_kill(world: World) -> None:
    async def first() -> None:
        with_canaries(world.server, BUSY)
        async with at_work(world.quick_monitor(CANARY)):
            await until(lambda: bool(world.mail.notices))

    released = threading.Event()

    def queued(_: Asked) -> Answer:
        released.wait(30)
        return QUEUED

    async def second() -> None:
        with_canaries(world.server, queued)
        monitor = world.quick_monitor(CANARY)
        rounds = monitor.state.rounds
        async with at_work(monitor):
            await until(lambda: monitor.state.rounds > rounds + 3)
            assert monitor.state.receivers["a"].is_down
            released.set()

    async def without_canary() -> None:
        async with at_work(world.quick_monitor(None)):
            await until(lambda: len(world.mail.notices) == 2)

    run(first)
    run(second)
    run(without_canary)
    assert [title.partition(",")[0] for title in world.mail.titles] == ["a is down", "a works again"]


def test_a_canary_is_begun_once_at_a_time_and_told_once(world: World) -> None:
    with_canaries(world.server, BUSY)

    async def play() -> None:
        canary = Canary(Receiver("a", world.server.url, None, "mst_x"), CANARY)
        found: list[Outcome] = []

        def has_found() -> bool:
            found.extend(filter(None, [canary.taken()]))
            return bool(found)

        running = asyncio.ensure_future(canary.run())
        canary.ask(0.0)
        canary.ask(7200.0)
        await until(has_found)
        assert canary.taken() is None
        running.cancel()

    run(play)
    assert submitted(world.server) == 1


def test_a_monitor_that_is_stopped_while_a_notice_goes_out_ends(world: World) -> None:
    world.is_well(False)

    async def play() -> None:
        running = asyncio.ensure_future(world.quick_monitor(None).run())
        loop = asyncio.get_running_loop()

        def stop() -> None:
            loop.call_soon_threadsafe(running.cancel)

        world.mail.then = stop
        done, _ = await asyncio.wait([running], timeout=30)
        assert done

    run(play)


def test_stories_of_ways_that_are_gone_are_dropped(world: World) -> None:
    world.is_well(False)
    run(lambda: world.monitor().round())
    state = opened_state(world.state_file)
    plan = Plan((Receiver("a", world.server.url),), 60.0, 20.0, Damping(1, 1), (), None, world.state_file)

    async def play() -> None:
        assert Monitor(plan, state).state.pending == ()

    run(play)
