"""The capability `logs`."""

import asyncio
import time
from contextlib import aclosing, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from muster.domain.errors import BackendError, NotFound
from muster.domain.tasks import Task
from muster.ports.backend import Phase
from muster.ports.capabilities import TaskLogs, TaskRef
from tests.contract.backends.harness import LOG_BYTES
from tests.contract.backends.observing import DEADLINE_S, Site
from tests.contract.backends.programs import Programs
from tests.contract.backends.slurm_harness import SlurmHarness

pytestmark = pytest.mark.anyio
LINES = ("one", "two", "three")
TEXT = b"one\ntwo\nthree\n"


async def test_a_log_is_read_by_offset(site: Site) -> None:
    logs = _logs(site)
    (task,) = await _printed(site)
    ref = TaskRef.of(task)
    whole = await logs.read(ref, 0, 1000)
    assert (whole.data, whole.offset, whole.size, whole.ended) == (TEXT, 0, len(TEXT), False)
    part = await logs.read(ref, 4, 3)
    assert (part.data, part.offset, part.size, part.ended) == (b"two", 4, len(TEXT), False)
    beyond = await logs.read(ref, len(TEXT), 1000)
    assert (beyond.data, beyond.size) == (b"", len(TEXT))


async def test_a_chunk_says_that_it_reaches_the_end_of_an_ended_task(site: Site) -> None:
    logs = _logs(site)
    (task,) = await _printed(site)
    site.harness.tasks.finish(task, 0)
    await site.observer.sees(task, Phase.ENDED)
    assert not (await logs.read(TaskRef.of(task), 0, 4)).ended
    assert (await logs.read(TaskRef.of(task), 4, 1000)).ended
    assert (await logs.read(TaskRef.of(task), len(TEXT), 1000)).ended


async def test_the_times_of_a_log_are_known_soon_and_after_the_end(site: Site) -> None:
    source = site.backend.capabilities.log_times
    if source is None:
        pytest.skip("this backend does not know times")
    before = time.time()
    (task,) = await _printed(site)
    async with asyncio.timeout(DEADLINE_S):
        while (times := await source.times(TaskRef.of(task))).known < len(TEXT):
            await asyncio.sleep(0.05)
    at_ms = times.written_at_ms(0)
    assert at_ms is not None
    assert int(before) * 1000 <= at_ms <= time.time() * 1000
    site.harness.tasks.says(task, "last")
    await grown(site, task, len(TEXT) + 5)
    site.harness.tasks.finish(task, 0)
    await site.observer.sees(task, Phase.ENDED)
    assert (await source.times(TaskRef.of(task))).known == len(TEXT) + 5


async def test_a_tail_begins_at_the_start_of_a_line(site: Site) -> None:
    logs = _logs(site)
    (task,) = await _printed(site)
    found = {lines: await logs.tail_offset(TaskRef.of(task), lines) for lines in (0, 1, 2, 3, 100)}
    assert found == {0: 14, 1: 8, 2: 4, 3: 0, 100: 0}


async def test_watching_yields_the_size_then_its_growth_and_ends_after_the_end(site: Site) -> None:
    logs = _logs(site)
    (task,) = await site.running()
    sizes: list[int] = []
    async with asyncio.timeout(DEADLINE_S), aclosing(logs.watch(TaskRef.of(task))) as watch:
        async for size in watch:
            if not sizes:
                for line in LINES:
                    site.harness.tasks.says(task, line)
            sizes.append(size)
            if size == len(TEXT):
                site.harness.tasks.finish(task, 0)
    assert sizes[0] == 0
    assert sizes[-1] == len(TEXT)
    assert all(later > earlier for earlier, later in pairwise(sizes)), "only growth is told"
    assert (await site.observer.sees(task, Phase.ENDED)).exit_code == 0


async def test_watching_an_ended_task_yields_its_size_once(site: Site) -> None:
    logs = _logs(site)
    (task,) = await _printed(site)
    site.harness.tasks.finish(task, 0)
    await site.observer.sees(task, Phase.ENDED)
    async with asyncio.timeout(DEADLINE_S), aclosing(logs.watch(TaskRef.of(task))) as watch:
        assert [size async for size in watch] == [len(TEXT)]


async def test_collecting_twice_gives_the_same_file(site: Site, tmp_path: Path) -> None:
    logs = _logs(site)
    (task,) = await _printed(site)
    site.harness.tasks.finish(task, 0)
    await site.observer.sees(task, Phase.ENDED)
    target = tmp_path / "logs" / "deeper" / "task.log"
    for _ in range(2):
        await logs.collect(TaskRef.of(task), target)
        assert target.read_bytes() == TEXT
    assert [path.name for path in target.parent.iterdir()] == [target.name]


async def test_a_log_beyond_its_limit_is_collected_without_its_middle(site: Site, tmp_path: Path) -> None:
    logs, programs = _logs(site), site.harness.tasks
    is_limited = site.harness.queue is None or isinstance(site.harness, SlurmHarness)
    if not isinstance(programs, Programs) or not is_limited:
        pytest.skip("this backend has no limit for logs")
    (task,) = await site.running()
    programs.order(task, "seq 1 500000; exit 0")
    await site.observer.sees(task, Phase.ENDED)
    text = "".join(f"{number}\n" for number in range(1, 500_001)).encode()
    target = tmp_path / "task.log"
    dropped = await logs.collect(TaskRef.of(task), target)
    assert dropped is not None
    for _ in range(2):
        assert await logs.collect(TaskRef.of(task), target) == dropped
        assert target.read_bytes() == text[: dropped.start] + text[dropped.end :]
    assert 0 < target.stat().st_size <= LOG_BYTES
    for offset, data in ((0, b"1\n2\n"), (dropped.start, b""), (dropped.end - 1, b"")):
        chunk = await logs.read(TaskRef.of(task), offset, 4)
        assert (chunk.data, chunk.size, chunk.ended, chunk.dropped) == (data, len(text), False, dropped)
    chunk = await logs.read(TaskRef.of(task), len(text) - 7, 100)
    assert (chunk.data, chunk.dropped) == (b"500000\n", dropped)
    assert await logs.tail_offset(TaskRef.of(task), 500_000) == dropped.start


async def test_a_task_that_never_was_has_no_log(site: Site) -> None:
    logs = _logs(site)
    (never,) = site.gang().tasks
    with pytest.raises(NotFound):
        await logs.read(TaskRef.of(never), 0, 1000)
    with pytest.raises(NotFound):
        await logs.tail_offset(TaskRef.of(never), 1)
    with pytest.raises(NotFound):
        async with aclosing(logs.watch(TaskRef.of(never))) as watch:
            await anext(watch)


async def test_a_task_that_was_refused_has_no_log(site: Site, tmp_path: Path) -> None:
    logs = _logs(site)
    launch = site.harness.refused(await site.launch_of())
    with suppress(BackendError):  # or the answer says which tasks were refused
        assert not (await site.backend.launch(launch)).handles
    ref = TaskRef.of(launch.gang.tasks[0])
    with pytest.raises(NotFound):
        await logs.read(ref, 0, 1000)
    with suppress(NotFound):
        await logs.collect(ref, tmp_path / "task.log")
        assert (tmp_path / "task.log").read_bytes() == b""
    with pytest.raises(NotFound):
        async with aclosing(logs.watch(ref)) as watch:
            await anext(watch)


async def _printed(site: Site) -> tuple[Task, ...]:
    """A running task that has printed `TEXT`."""
    tasks = await site.running()
    for line in LINES:
        site.harness.tasks.says(tasks[0], line)
    await grown(site, tasks[0], len(TEXT))
    return tasks


async def grown(site: Site, task: Task, size: int) -> None:
    async with asyncio.timeout(DEADLINE_S), aclosing(_logs(site).watch(TaskRef.of(task))) as watch:
        async for now in watch:
            if now >= size:
                return


def _logs(site: Site) -> TaskLogs:
    logs = site.backend.capabilities.logs
    if logs is None:
        pytest.skip("this backend does not offer logs")
    return logs
