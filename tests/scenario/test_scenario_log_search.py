"""Searching the logs of a job: every line that has the text, with its number and place, in bounded steps."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.domain.dropped_bytes import DroppedBytes
from muster.domain.errors import Invalid
from muster.domain.tasks import Task
from muster.engine.data import log_search
from muster.engine.data.log_search import MOST_FOUND, Needle, SearchCursor, SearchResult, search
from muster.engine.data.logs import LogReader
from tests.parts.building import a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def running(lab: Laboratory, replicas: int = 1) -> list[Task]:
    for entry in lab.context.open_jobs.entries():
        return entry.current_tasks()
    job_id = await lab.submit(a_spec(a_role(replicas=replicas)))
    await lab.becomes(job_id, "Running")
    return await lab.tasks(job_id)


def kept(lab: Laboratory, task: Task, data: bytes, name: str = "kept.log") -> Task:
    lab.context.logs.mkdir(parents=True, exist_ok=True)
    (lab.context.logs / name).write_bytes(data)
    return replace(task, log=name)


async def find(
    lab: Laboratory, tasks: list[Task], text: str, *, case: bool = False, limit: int = 100, cursor: str = "0:0:0"
) -> SearchResult:
    reader = LogReader(lab.context)
    return await search(reader, tasks, "lab", Needle(text, case), limit, SearchCursor.parse(cursor))


async def test_lines_of_all_workers_are_found_with_number_place_and_ranges(lab: Laboratory) -> None:
    first, second = await running(lab, 2)
    lab.backend.prints(first.id, "start\nAn ERROR and an error\nend\n")
    lab.backend.prints(second.id, "no Error her")
    result = await find(lab, [first, second], "error")
    assert [(line.task.id, line.number, line.offset, line.text, line.ranges) for line in result.found] == [
        (first.id, 2, 6, "An ERROR and an error", [(3, 8), (16, 21)]),
        (second.id, 1, 0, "no Error her", [(3, 8)]),
    ]
    assert (result.total, result.is_cut, result.next_cursor, result.unread) == (2, False, None, [])


async def test_case_matters_only_if_asked(lab: Laboratory) -> None:
    (task,) = await running(lab)
    task = kept(lab, task, "Ärger\närger\nargh Loss\nloss\n".encode())
    assert [line.number for line in (await find(lab, [task], "ÄRGER")).found] == [1, 2]
    assert [line.number for line in (await find(lab, [task], "ärger", case=True)).found] == [2]
    assert [line.number for line in (await find(lab, [task], "LOSS")).found] == [3, 4]
    assert [line.number for line in (await find(lab, [task], "Loss", case=True)).found] == [3]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    lines=st.lists(st.sampled_from(["", "a", "needle", "x" * 3000 + "needle", "Needle é needle", "nee"]), max_size=30),
    limit=st.integers(1, 10),
    piece=st.sampled_from([100, 4000, 1 << 20]),
)
async def test_pages_together_are_all_lines_with_the_text(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch, lines: list[str], limit: int, piece: int
) -> None:
    monkeypatch.setattr(log_search, "_READ_BYTES", piece)
    (task,) = await running(lab)
    task = kept(lab, task, "\n".join(lines).encode())
    found, cursor = [], "0:0:0"
    while True:
        result = await find(lab, [task], "needle", limit=limit, cursor=cursor)
        found += result.found
        if result.next_cursor is None:
            break
        cursor = str(result.next_cursor)
    numbers = list(dict.fromkeys(line.number for line in found))
    assert numbers == [number for number, line in enumerate(lines, 1) if "needle" in line.lower()]
    assert all(line.text[start:end].lower() == "needle" for line in found for start, end in line.ranges)


async def test_a_text_across_the_parts_of_a_very_long_line_is_found(lab: Laboratory) -> None:
    (task,) = await running(lab)
    task = kept(lab, task, b"first\n" + b"x" * ((1 << 20) + 3) + b"needle" + b"y" * (3 << 20) + b"\nneedle\n")
    result = await find(lab, [task], "needle")
    assert [line.number for line in result.found] == [2, 3]
    assert len(result.found[0].text) <= 4096
    assert result.found[0].ranges


async def test_numbers_count_the_line_in_place_of_dropped_bytes(lab: Laboratory) -> None:
    (task,) = await running(lab)
    dropped = DroppedBytes(4, 1_000_000)
    task = kept(lab, task, b"one\nneedle\n", dropped.file_name("kept.log"))
    (line,) = (await find(lab, [task], "needle")).found
    assert (line.number, line.offset) == (3, 1_000_000)


async def test_a_search_that_finds_very_much_is_cut_and_goes_on(lab: Laboratory) -> None:
    (task,) = await running(lab)
    task = kept(lab, task, b"needle\n" * (MOST_FOUND + 5))
    result = await find(lab, [task], "needle", limit=3)
    assert (len(result.found), result.total, result.is_cut) == (3, MOST_FOUND, True)
    assert result.next_cursor == SearchCursor(0, 21, 3)


async def test_logs_that_were_removed_are_named(lab: Laboratory) -> None:
    first, second = await running(lab, 2)
    lab.backend.prints(second.id, "needle\n")
    result = await find(lab, [replace(first, log="gone.log"), second], "needle")
    assert ([line.task.id for line in result.found], [task.id for task in result.unread]) == ([second.id], [first.id])


@pytest.mark.parametrize("cursor", ["", "x", "1:2", "1:2:-3", "1:2:3:4"])
def test_other_texts_are_no_cursors(cursor: str) -> None:
    with pytest.raises(Invalid):
        SearchCursor.parse(cursor)
