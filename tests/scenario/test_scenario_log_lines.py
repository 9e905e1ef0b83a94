"""Logs by line number: while a task prints, after its end, with very long lines, and with bytes that were dropped."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.domain.dropped_bytes import DroppedBytes
from muster.domain.errors import NotFound
from muster.domain.tasks import Task
from muster.engine.data.log_lines import SHOWN_BYTES, LinePage, LogLines
from muster.engine.data.logs import LogReader
from tests.parts.building import a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def running(lab: Laboratory) -> Task:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    return (await lab.tasks(job_id))[0]


def reader(lab: Laboratory) -> LogLines:
    return LogLines(lab.context, LogReader(lab.context))


async def read(lines: LogLines, task: Task, first: int = 1, count: int = 500) -> LinePage:
    return await lines.page(task, "lab", first, count)


def kept(lab: Laboratory, task: Task, data: bytes, name: str = "kept.log") -> Task:
    """The task with this as its collected log."""
    lab.context.logs.mkdir(parents=True, exist_ok=True)
    (lab.context.logs / name).write_bytes(data)
    return replace(task, log=name)


def texts(page: LinePage) -> list[str]:
    return [line.text for line in page.lines]


async def test_a_running_task_is_read_on_as_it_prints(lab: Laboratory) -> None:
    task, lines = await running(lab), reader(lab)
    assert (await read(lines, task)).total == 0
    lab.backend.prints(task.id, "one\ntw")
    page = await read(lines, task)
    assert (texts(page), page.total, page.is_complete) == (["one", "tw"], 2, False)
    lab.backend.prints(task.id, "o\nthree\n")
    page = await read(lines, task, first=2)
    assert [(line.number, line.offset, line.text) for line in page.lines] == [(2, 4, "two"), (3, 8, "three")]
    assert (page.total, page.size_bytes) == (3, 14)


async def test_lines_are_the_same_once_the_log_is_collected(lab: Laboratory) -> None:
    task, lines = await running(lab), reader(lab)
    lab.backend.prints(task.id, "".join(f"line {number}\n" for number in range(1, 3001)))
    before = await read(lines, task, first=-2)
    lab.backend.end(task.id)
    await lab.becomes(task.job_id, "Succeeded")
    (ended,) = await lab.tasks(task.job_id)
    after = await read(lines, ended, first=-2)
    assert texts(after) == texts(before) == ["line 2999", "line 3000"]
    assert (after.total, after.is_complete) == (3000, True)


@pytest.mark.parametrize(
    ("first", "expected"),
    [(1, ["a", "b"]), (0, ["a", "b"]), (3, ["c"]), (4, []), (99, []), (-1, ["c"]), (-3, ["a", "b"]), (-99, ["a", "b"])],
)
async def test_a_page_begins_at_a_line_or_from_the_end(lab: Laboratory, first: int, expected: list[str]) -> None:
    task = kept(lab, await running(lab), b"a\nb\nc")
    assert texts(await read(reader(lab), task, first, 2)) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    words=st.lists(st.sampled_from([b"", b"a", b"\r", b"x" * 5000, b"y" * 70_000, "é".encode() * 9000]), max_size=12),
    ends=st.booleans(),
    first=st.integers(-15, 15),
    count=st.integers(1, 15),
)
async def test_pages_are_what_splitting_the_text_gives(
    lab: Laboratory, words: list[bytes], ends: bool, first: int, count: int
) -> None:
    text = b"\n".join(words) + (b"\n" if ends and words else b"")
    expected = text.split(b"\n")[:-1] if text.endswith(b"\n") else text.split(b"\n") if text else []
    task = kept(lab, await lab_task(lab), text)
    page = await read(reader(lab), task, first, count)
    start = max(0, len(expected) + first) if first < 0 else max(0, first - 1)
    assert page.total == len(expected)
    assert [line.number for line in page.lines] == list(range(start + 1, start + 1 + len(page.lines)))
    assert len(page.lines) == len(expected[start : start + count])
    for line, whole in zip(page.lines, expected[start:], strict=False):
        assert text[line.offset :].startswith(whole)
        assert line.cut_bytes == max(0, len(whole) - SHOWN_BYTES)
        assert line.text == whole[:SHOWN_BYTES].decode(errors="replace")


async def lab_task(lab: Laboratory) -> Task:
    for entry in lab.context.open_jobs.entries():
        return entry.current_tasks()[0]
    return await running(lab)


async def test_a_long_progress_bar_shows_what_it_says_at_last(lab: Laboratory) -> None:
    bar = b"".join(b"\r%6d of 100000" % step for step in range(100_000))
    task = kept(lab, await running(lab), b"begin\n" + bar + b"\nend\n")
    page = await read(reader(lab), task)
    assert texts(page)[0::2] == ["begin", "end"]
    assert page.lines[1].text.endswith("\r 99999 of 100000")
    assert page.lines[1].cut_bytes == len(bar) - len(page.lines[1].text)


async def test_a_line_is_in_place_of_bytes_that_were_dropped(lab: Laboratory) -> None:
    dropped = DroppedBytes(8, 1_000_000)
    task = kept(lab, await running(lab), b"one\ntwo\nsix\nseven\n", dropped.file_name("kept.log"))
    page = await read(reader(lab), task)
    assert [line.text for line in page.lines if "dropped" not in line.text] == ["one", "two", "six", "seven"]
    assert [line.offset for line in page.lines] == [0, 4, 8, 1_000_000, 1_000_004]
    assert (page.total, page.dropped_bytes, page.size_bytes) == (5, dropped.length, 1_000_010)


async def test_bytes_that_are_dropped_later_are_noticed(lab: Laboratory) -> None:
    task, lines = await running(lab), reader(lab)
    whole = kept(lab, task, b"one\ntwo\nthree\nfour\nfive\n")
    assert (await read(lines, whole)).total == 5
    dropped = DroppedBytes(4, 14)
    less = kept(lab, task, b"one\nfour\nfive\n", dropped.file_name("kept.log"))
    assert texts(await read(lines, less))[2:] == ["four", "five"]


async def test_a_log_that_has_become_shorter_is_counted_anew(lab: Laboratory) -> None:
    task, lines = await running(lab), reader(lab)
    assert (await read(lines, kept(lab, task, b"one\ntwo\n"))).total == 2
    assert texts(await read(lines, kept(lab, task, b"other"))) == ["other"]


async def test_a_collected_log_outlives_its_cluster(lab: Laboratory) -> None:
    task, lines = await running(lab), reader(lab)
    assert texts(await lines.page(kept(lab, task, b"one\n"), "gone", 1, 10)) == ["one"]
    with pytest.raises(NotFound):
        await lines.page(task, "gone", 1, 10)
