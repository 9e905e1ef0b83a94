"""Small pure parts: ports ranges, usage figures, the tail of a log."""

from pathlib import Path

import pytest

from muster.agent.node import usage
from muster.agent.system.processes import TICKS_PER_S, ProcessStat
from muster.agent.tasks import logs, port_ranges
from muster.agent.tasks.table import Task

pytestmark = pytest.mark.fast


def test_candidates_leave_out_what_the_kernel_hands_out() -> None:
    assert port_ranges.candidates((1998, 2003), (2000, 2001)) == [1998, 1999, 2002, 2003]
    assert port_ranges.candidates((2000, 2001), (1024, 65535)) == []


@pytest.mark.parametrize("text", ["", "5", "5-", "80-90", "3000-2000", "3000-70000", "a-b"])
def test_port_range_written_wrongly_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="port range"):
        port_ranges.parse_range(text)


def test_port_range_is_read() -> None:
    assert port_ranges.parse_range("2000-3000") == (2000, 3000)


def process(pid: int, parent: int, session: int, ticks: int) -> ProcessStat:
    return ProcessStat(pid, "S", parent, session, ticks, 1, 2)


def test_usage_counts_sessions_and_the_children_that_left_them() -> None:
    processes = [
        process(1, 0, 1, 999),
        process(10, 1, 10, 100),
        process(11, 10, 10, 200),
        process(12, 11, 12, 300),  # left the session, still a descendant
        process(13, 12, 12, 400),
        process(20, 1, 20, 50),
    ]
    found = usage.task_usage({10: "a", 20: "b", 30: "gone"}, processes)
    assert {task: (figures["cpu_s"], figures["processes"]) for task, figures in found.items()} == {
        "a": (1000 / TICKS_PER_S, 4),
        "b": (50 / TICKS_PER_S, 1),
        "gone": (0.0, 0),
    }


def test_cpu_percent_is_the_busy_part_of_the_time_passed() -> None:
    old = usage.parse_cpu_line("cpu  100 0 100 700 100 0 0 0 0 0")
    new = usage.parse_cpu_line("cpu  150 0 125 725 100 0 0 0 0 0")
    assert usage.percent(old, new) == 75.0
    assert usage.percent(new, new) == 0.0


@pytest.mark.parametrize(
    ("content", "lines", "offset"),
    [
        (b"", 5, 0),
        (b"a\nb\nc\n", 1, 4),
        (b"a\nb\nc", 1, 4),
        (b"a\nb\nc", 2, 2),
        (b"a\nb\nc\n", 3, 0),
        (b"a\nb\nc\n", 0, 6),
        (b"\n\n\n", 2, 1),
        (b"x" * 200_000 + b"\n" + b"y" * 200_000, 1, 200_001),
        (b"one\n" * 100_000, 50_000, 200_000),
    ],
)
def test_tail_begins_so_many_lines_before_the_end(tmp_path: Path, content: bytes, lines: int, offset: int) -> None:
    (tmp_path / "log").write_bytes(content)
    assert logs.tail_offset(Task("t", str(tmp_path)), lines) == offset


def test_tail_of_a_log_of_many_gigabytes_is_found_at_once(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        log.truncate(50 * 1024**3)  # sparse
        log.seek(0, 2)
        log.write(b"\nlast but one\nlast\n")
    assert logs.tail_offset(Task("t", str(tmp_path)), 2) == 50 * 1024**3 + 1
