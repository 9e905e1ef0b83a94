"""Readers of logs are told that there is more, and nothing of what nobody reads is watched."""

from typing import Any

import pytest

from muster.engine.data.logs import LogReader
from muster.engine.requests import commands
from muster.server.live.broadcaster import Broadcaster
from tests.parts.building import a_role, a_spec
from tests.parts.laboratory import Laboratory
from tests.parts.live_page import Page, open_page, services_of, somebody

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
AMY = somebody("amy")


def logs(page: Page) -> dict[tuple[str, int], tuple[int, bool]]:
    """By worker and attempt, the size that the page knows, and whether the log is over."""
    told: list[Any] = [log for data in page.of("logs") for log in data["logs"]]
    return {(log["worker"], log["attempt"]): (log["sizeBytes"], log["isOver"]) for log in told}


async def test_growth_and_end_of_each_log_are_told(lab: Laboratory) -> None:
    parts = services_of(lab)
    live = Broadcaster(parts)
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Running")
    lab.backend.prints(f"{job_id}.1.worker.0", "before\n")
    async with open_page(parts, live, AMY, f"logs:{job_id}") as page:
        await lab.until(lambda: logs(page).get(("worker-0", 1)) == (7, False))
        lab.backend.prints(f"{job_id}.1.worker.1", "more\n")
        await lab.until(lambda: logs(page).get(("worker-1", 1)) == (5, False))
        for index in range(2):
            lab.backend.end(f"{job_id}.1.worker.{index}")
        await lab.until(lambda: all(is_over for _, is_over in logs(page).values()))
    assert {data["id"] for data in page.of("logs")} == {job_id}
    assert logs(page) == {("worker-0", 1): (7, True), ("worker-1", 1): (5, True)}


async def test_the_reader_of_one_log_is_told_of_that_one_alone(lab: Laboratory) -> None:
    parts = services_of(lab)
    live = Broadcaster(parts)
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Running")
    async with open_page(parts, live, AMY, f"logs:{job_id}:worker-1") as page:
        lab.backend.prints(f"{job_id}.1.worker.0", "not this\n")
        lab.backend.prints(f"{job_id}.1.worker.1", "this\n")
        await lab.until(lambda: logs(page).get(("worker-1", 1)) == (5, False))
    assert set(logs(page)) == {("worker-1", 1)}


async def test_logs_of_a_later_attempt_are_told_to_a_reader_who_was_there_before(lab: Laboratory) -> None:
    parts = services_of(lab)
    live = Broadcaster(parts)
    job_id = await lab.submit(a_spec(retry_max=1, held=False))
    await lab.becomes(job_id, "Running")
    async with open_page(parts, live, AMY, f"logs:{job_id}") as page:
        lab.backend.prints(f"{job_id}.1.worker.0", "first\n")
        await lab.until(lambda: logs(page).get(("worker-0", 1)) == (6, False))
        lab.backend.end(f"{job_id}.1.worker.0", exit_code=1)
        await lab.becomes(job_id, "Queued")
        lab.pass_time(1.0)
        await lab.becomes(job_id, "Running", attempt=2)
        lab.backend.prints(f"{job_id}.2.worker.0", "again\n")
        await lab.until(lambda: logs(page).get(("worker-0", 2)) == (6, False))
        assert logs(page)["worker-0", 1] == (6, True)


async def test_readers_are_told_whether_anything_may_still_be_printed(lab: Laboratory) -> None:
    parts = services_of(lab)
    live = Broadcaster(parts)
    ended = await lab.submit(a_spec(name="ended"))
    await lab.becomes(ended, "Running")
    lab.backend.end(f"{ended}.1.worker.0")
    await lab.becomes(ended, "Succeeded")
    async with open_page(parts, live, AMY, f"logs:{ended}") as page:
        await lab.until(lambda: page.of("logs"))
        assert page.of("logs") == [{"id": ended, "worker": None, "isRunning": False, "logs": []}]
    later = await lab.submit(a_spec(name="later", held=True))
    async with open_page(parts, live, AMY, f"logs:{later}:worker-0") as page:
        await lab.until(lambda: page.of("logs"))
        await commands.resume(lab.context, later, "amy")
        await lab.until(lambda: len(page.of("logs")) > 1)
        assert [data["isRunning"] for data in page.of("logs")][:2] == [False, True]


async def test_one_watch_serves_all_readers_and_ends_with_the_last(lab: Laboratory) -> None:
    parts = services_of(lab)
    live = Broadcaster(parts)
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    task = lab.backend.tasks[f"{job_id}.1.worker.0"]
    async with (
        open_page(parts, live, AMY, f"logs:{job_id}") as one,
        open_page(parts, live, AMY, f"logs:{job_id}") as other,
    ):
        lab.backend.prints(f"{job_id}.1.worker.0", "to both\n")
        await lab.until(lambda: logs(one) == logs(other) == {("worker-0", 1): (8, False)})
        assert task.watchers == 1
    await lab.until(lambda: task.watchers == 0)


async def test_what_is_printed_while_a_log_is_read_does_not_keep_the_reading_from_ending(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    name = f"{job_id}.1.worker.0"
    lab.backend.prints(name, "at first\n")
    (task,) = await lab.context.store.tasks(job_id, 1)
    read = []
    async for piece in LogReader(lab.context).pieces(task, (await lab.job(job_id)).cluster, 0, follow=False):
        read.append(piece.payload_text())
        lab.backend.prints(name, "meanwhile\n")
    assert read == ["at first\n"]
