"""A job's logs as one stream: through attempts, resumed at any piece, on jobs in every state."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from muster.domain.errors import Invalid
from muster.engine.data.following import LogCursor, Unread, Wanted, follow_job
from muster.engine.data.logs import LogReader, Piece
from muster.engine.requests import commands
from muster.engine.requests.explaining import explain
from tests.parts.building import a_role, a_spec
from tests.parts.laboratory import DEADLINE_S, Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
FOLLOW = Wanted(follow=True)


async def stream(
    lab: Laboratory, job_id: str, wanted: Wanted, cursor: LogCursor | None = None
) -> AsyncIterator[tuple[LogCursor, Piece | Unread]]:
    job = await lab.job(job_id)
    return follow_job(lab.context, LogReader(lab.context), job, wanted, cursor or LogCursor())


async def texts(lab: Laboratory, job_id: str, wanted: Wanted, cursor: LogCursor | None = None) -> list[str]:
    async with asyncio.timeout(DEADLINE_S):
        return [_text(piece) async for _, piece in await stream(lab, job_id, wanted, cursor)]


def _text(piece: Piece | Unread) -> str:
    if isinstance(piece, Unread):
        return f"{piece.task} is not read: {piece.why}"
    data = json.loads(piece.payload)
    return f"{data['task']}: {data['text']}"


async def a_job_tried_twice(lab: Laboratory) -> str:
    job_id = await lab.submit(a_spec(retry_max=1))
    await lab.becomes(job_id, "Running")
    lab.backend.prints(f"{job_id}.1.worker.0", "first\nsecond\n")
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=1)
    await lab.becomes(job_id, "Queued")
    lab.pass_time(1.0)
    await lab.becomes(job_id, "Running", attempt=2)
    lab.backend.prints(f"{job_id}.2.worker.0", "third\n")
    return job_id


async def test_following_goes_through_attempts_to_the_end_and_has_every_line_once(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(retry_max=1))
    reading = asyncio.create_task(texts(lab, job_id, FOLLOW))
    await lab.becomes(job_id, "Running")
    lab.backend.prints(f"{job_id}.1.worker.0", "one\n")
    await lab.settled()
    lab.backend.prints(f"{job_id}.1.worker.0", "two\n")
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=1)
    await lab.becomes(job_id, "Queued")
    lab.pass_time(1.0)
    await lab.becomes(job_id, "Running", attempt=2)
    lab.backend.prints(f"{job_id}.2.worker.0", "three\n")
    lab.backend.end(f"{job_id}.2.worker.0")
    assert "".join(await reading).replace("job-worker-0: ", "") == "one\ntwo\nthree\n"


async def test_a_reader_that_comes_back_gets_the_rest_of_its_attempt_first(lab: Laboratory) -> None:
    job_id = await a_job_tried_twice(lab)
    lab.backend.end(f"{job_id}.2.worker.0")
    await lab.becomes(job_id, "Succeeded")
    cursor = LogCursor(1, {"job-worker-0": len("first\n")})
    for wanted in (FOLLOW, Wanted()):
        assert await texts(lab, job_id, wanted, cursor) == ["job-worker-0: second\n", "job-worker-0: third\n"]


async def test_every_piece_has_the_cursor_that_goes_on_after_it(lab: Laboratory) -> None:
    job_id = await a_job_tried_twice(lab)
    lab.backend.end(f"{job_id}.2.worker.0")
    await lab.becomes(job_id, "Succeeded")
    seen = [(cursor, _text(piece)) async for cursor, piece in await stream(lab, job_id, FOLLOW, LogCursor(1))]
    assert [text for _, text in seen] == ["job-worker-0: first\nsecond\n", "job-worker-0: third\n"]
    for place, (cursor, _) in enumerate(seen):
        rest = [text for _, text in seen[place + 1 :]]
        assert await texts(lab, job_id, FOLLOW, LogCursor.parse(str(cursor))) == rest


async def test_without_follow_the_last_attempt_is_shown_as_it_is_now(lab: Laboratory) -> None:
    job_id = await a_job_tried_twice(lab)
    assert await texts(lab, job_id, Wanted()) == ["job-worker-0: third\n"]
    assert await texts(lab, job_id, Wanted(attempt=1)) == ["job-worker-0: first\nsecond\n"]
    assert await texts(lab, job_id, Wanted(attempt=1, tail=1)) == ["job-worker-0: second\n"]


async def test_following_an_attempt_that_is_over_ends_though_the_job_goes_on(lab: Laboratory) -> None:
    job_id = await a_job_tried_twice(lab)
    assert await texts(lab, job_id, Wanted(follow=True, attempt=1)) == ["job-worker-0: first\nsecond\n"]


async def test_a_tail_can_be_followed_before_the_task_has_started(lab: Laboratory) -> None:
    lab.backend.requests_lost = 1
    job_id = await lab.submit(a_spec())
    await lab.settled()
    reading = asyncio.create_task(texts(lab, job_id, Wanted(follow=True, tail=10)))
    await lab.settled()
    lab.backend.come_back()
    await lab.becomes(job_id, "Running")
    lab.backend.prints(f"{job_id}.1.worker.0", "hello\n")
    lab.backend.end(f"{job_id}.1.worker.0")
    assert await reading == ["job-worker-0: hello\n"]


async def test_one_worker_alone_and_all_together(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Running")
    for index in range(2):
        lab.backend.prints(f"{job_id}.1.worker.{index}", f"I am {index}\n")
    assert await texts(lab, job_id, Wanted(tasks=("worker-1",))) == ["job-worker-1: I am 1\n"]
    assert sorted(await texts(lab, job_id, Wanted())) == ["job-worker-0: I am 0\n", "job-worker-1: I am 1\n"]


async def test_a_killed_job_still_has_its_lines(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.prints(f"{job_id}.1.worker.0", "half a li")
    await commands.kill(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Cancelled")
    lab.backend.tasks.clear()
    assert await texts(lab, job_id, FOLLOW) == ["job-worker-0: half a li"]


async def test_a_job_that_never_ran_has_no_lines(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(held=True))
    await commands.kill(lab.context, job_id, "amy")
    assert await texts(lab, job_id, FOLLOW) == []


@pytest.mark.parametrize("text", ["", "x", "1;a", "1;a=b", "²;a=1", "-1"])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        LogCursor.parse(text)


async def test_that_a_log_cannot_be_read_is_told_once_and_it_is_read_on_later(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.prints(f"{job_id}.1.worker.0", "one\n")
    lab.backend.leave()
    [said] = await texts(lab, job_id, Wanted())
    assert said.startswith("job-worker-0 is not read: ")
    seen: list[str] = []
    async with asyncio.timeout(DEADLINE_S):
        async for _, found in await stream(lab, job_id, FOLLOW):
            seen.append(_text(found))
            if isinstance(found, Unread):
                lab.backend.come_back()
                lab.backend.end(f"{job_id}.1.worker.0", exit_code=0)
    assert seen == [said, "job-worker-0: one\n"]


async def test_an_explanation_stands_without_the_log_of_a_node_that_is_away(lab: Laboratory) -> None:
    lab.backend.log_error = OSError("full")
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.prints(f"{job_id}.1.worker.0", "Traceback (most recent call last)\nValueError: no\n")
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=1)
    job = await lab.becomes(job_id, "Failed")
    told = await explain(lab.context, LogReader(lab.context), job)
    assert "ValueError" in "".join(told.evidence)
    lab.backend.leave()
    away = await explain(lab.context, LogReader(lab.context), job)
    assert (away.evidence, away.fault, away.summary) == ((), told.fault, told.summary)


async def test_an_explanation_names_the_cause_of_an_attempt_that_failed(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=1)
    job = await lab.becomes(job_id, "Failed")
    told = await explain(lab.context, LogReader(lab.context), job)
    assert told.fault is not None
    assert told.attempts[0].outcome == f"job-worker-0 Failed: {told.fault.cause}"
