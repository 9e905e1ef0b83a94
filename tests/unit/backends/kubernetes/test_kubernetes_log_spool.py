"""Logs as they arrive from the API server: lines with their times, which may come twice."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.agent.tasks.masking import Masks
from muster.backends.kubernetes.log_spool import LogSpool
from muster.backends.kubernetes.logs import PodLogs
from muster.ports.capabilities import TaskRef

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


def line(second: int, text: str, part: int = 1, zone: str = "Z") -> bytes:
    return f"2026-01-02T03:04:{second:02}.{part:09}{zone} {text}\n".encode()


@contextmanager
def files_no_longer_than(length: int) -> Iterator[None]:
    """Writes end in the middle there, as on a disk that is full."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


async def test_lines_lose_their_times_however_the_stream_is_cut(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "a.log")
    stream = line(1, "one") + line(2, "two words") + line(3, "")
    for position in range(len(stream)):
        spool.feed(stream[position : position + 1])
    assert spool.path.read_bytes() == b"one\ntwo words\n\n"
    assert spool.size == spool.path.stat().st_size


async def test_what_comes_again_after_a_break_is_kept_once(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "a.log")
    first = line(1, "one") + line(2, "two") + line(2, "same time")
    spool.feed(first + b"2026-01-02T03:04:05.0")
    assert spool.since == "2026-01-02T03:04:02Z"
    spool.begin()
    spool.feed(line(2, "two") + line(2, "same time") + line(2, "third of that time") + line(5, "five"))
    spool.end()
    assert spool.path.read_bytes() == b"one\ntwo\nsame time\nthird of that time\nfive\n"


async def test_the_first_lines_of_a_server_are_kept_if_they_are_of_several_seconds(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "not" / "there" / "yet" / "a.log")
    spool.feed(line(1, "one") + line(2, "two") + line(3, "three"))
    assert spool.path.read_bytes() == b"one\ntwo\nthree\n"
    assert spool.times().known == spool.size


async def test_what_could_not_be_written_is_taken_when_it_comes_again(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "folder" / "a.log")
    (tmp_path / "folder").write_text("in its way")
    lines = line(1, "one") + line(2, "two") + line(2, "same time")
    for _ in range(2):
        spool.begin()
        with pytest.raises(OSError):
            spool.feed(lines)
        assert (spool.size, spool.since) == (0, "")
    (tmp_path / "folder").unlink()
    spool.begin()
    spool.feed(lines)
    assert spool.path.read_bytes() == b"one\ntwo\nsame time\n"


async def test_a_disk_that_was_full_leaves_neither_gaps_nor_halves_of_lines(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "a.log")
    spool.feed(line(1, "one"))
    lines = line(2, "two") + line(3, "x" * 10_000)
    with files_no_longer_than(5_000), pytest.raises(OSError):
        spool.feed(lines)
    assert (spool.path.read_bytes(), spool.size) == (b"one\n", 4)
    spool.begin()
    spool.feed(line(1, "one") + lines)
    assert spool.path.read_bytes() == b"one\ntwo\n" + b"x" * 10_000 + b"\n"


async def test_a_log_is_kept_although_its_times_and_its_cursor_cannot_be(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "a.log")
    for suffix in (".times", ".partial"):
        (tmp_path / f"a{suffix}").mkdir()
    spool.feed(line(1, "one") + line(2, "two"))
    spool.complete()
    assert spool.path.read_bytes() == b"one\ntwo\n"


async def test_lines_that_overtook_each_other_are_all_kept_once(tmp_path: Path) -> None:
    """The runtime notes the times of standard output and standard error before it writes the lines one by one."""
    spool = LogSpool(tmp_path / "a.log")
    first = line(1, "one") + line(2, "late", 500) + line(2, "early", 100)
    spool.feed(first)
    for _ in range(2):
        spool.begin()
        spool.feed(first + line(2, "earlier", 50) + line(3, "three"))
        spool.end()
    assert spool.path.read_bytes() == b"one\nlate\nearly\nearlier\nthree\n"


async def test_lines_are_taken_although_the_clock_of_the_node_was_set_back(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "a.log")
    spool.feed(line(9, "nine") + line(2, "two") + line(3, "three"))
    spool.begin()
    spool.feed(line(9, "nine") + line(10, "ten"))
    assert spool.path.read_bytes() == b"nine\ntwo\nthree\nten\n"


async def test_the_times_of_lines_are_known_and_survive_a_restart(tmp_path: Path) -> None:
    before = LogSpool(tmp_path / "a.log")
    before.feed(line(1, "one") + line(1, "two", 500_000_000) + line(3, "three") + line(4, "four", zone="+08:00"))
    first = int(datetime(2026, 1, 2, 3, 4, 1, tzinfo=UTC).timestamp() * 1000)
    assert before.times().written_at_ms(0) == first + 500
    assert before.times().since(first + 1000) == len("one\ntwo\n")
    before.close()
    after = LogSpool(tmp_path / "a.log")
    assert after.times() == before.times()
    after.begin()
    after.feed(line(5, "five"))
    assert after.times().known == after.size
    after.remove()
    assert list(tmp_path.iterdir()) == []


async def test_a_log_continues_after_a_restart_of_the_server(tmp_path: Path) -> None:
    before = LogSpool(tmp_path / "a.log")
    before.feed(line(1, "one") + line(2, "two"))
    before.close()
    with before.path.open("ab") as file:
        file.write(b"written after the cursor")
    after = LogSpool(tmp_path / "a.log")
    assert (after.size, after.since) == (8, "2026-01-02T03:04:02Z")
    after.begin()
    after.feed(line(2, "two") + line(3, "three"))
    assert after.path.read_bytes() == b"one\ntwo\nthree\n"


async def test_a_log_without_a_usable_cursor_begins_again(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("unknown")
    spool = LogSpool(tmp_path / "a.log")
    assert (spool.size, spool.since) == (0, "")


async def test_the_zone_of_a_node_is_kept(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "a.log")
    spool.feed(line(1, "one", zone="+08:00"))
    assert spool.since == "2026-01-02T03:04:01+08:00"


GONE = b"unable to retrieve container logs for containerd://44a5ada9723a05336154064cfe53c7d5"


@pytest.mark.parametrize("words", [GONE, GONE + b"\n", b"failed to create fsnotify watcher: too many open files"])
async def test_what_the_kubelet_says_in_the_stream_is_no_output(tmp_path: Path, words: bytes) -> None:
    spool = LogSpool(tmp_path / "a.log")
    spool.feed(line(1, "one"))
    since = spool.since
    spool.begin()
    spool.feed(words)
    spool.end()
    assert (spool.path.read_bytes(), spool.since) == (b"one\n", since)


async def test_what_the_kubelet_says_behind_an_unfinished_line_is_no_output(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "a.log")
    spool.feed(line(1, "step 1 of 3").rstrip(b"\n") + GONE)
    spool.end()
    assert spool.path.read_bytes() == b"step 1 of 3\n"


async def test_a_line_of_the_task_may_quote_the_kubelet(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "a.log")
    spool.feed(line(1, GONE.decode()))
    spool.end()
    assert spool.path.read_bytes() == GONE + b"\n"


async def test_a_very_long_line_is_kept_whole_and_once(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "a.log")
    words = [b"word " * 300_000, b"more " * 300_000, b"and its end"]
    for _ in range(2):
        spool.begin()
        for part in (line(1, "").rstrip(b"\n"), *words, b"\n"):
            spool.feed(part)
        spool.end()
    spool.feed(line(2, "next"))
    assert spool.path.read_bytes() == b"\n".join([*words, b"next"]) + b"\n"


async def test_secrets_never_reach_the_disk(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "a.log")
    spool.masks = Masks([b"hunter2"])
    spool.feed(line(1, "it is hunter2, yes"))
    assert spool.path.read_bytes() == b"it is *******, yes\n"


async def test_growth_ends_when_the_log_is_complete(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path / "a.log")
    growth = spool.growth()
    assert await anext(growth) == 0
    spool.feed(line(1, "one"))
    assert await anext(growth) == 4
    spool.complete()
    assert [size async for size in growth] == []


async def test_a_log_beyond_its_limit_loses_its_middle_and_keeps_its_positions(tmp_path: Path) -> None:
    logs = PodLogs(tmp_path, 64 << 10)
    spool = logs._spool("j1.1.worker.0")
    text = b""
    for number in range(3000):
        line_text = f"{number:06} {'x' * 60}\n"
        text += line_text.encode()
        spool.feed(f"2026-01-02T03:04:05.{number:09}Z {line_text}".encode())
    logs.ended("j1.1.worker.0")
    ref = TaskRef("j1.1.worker.0")
    dropped = await logs.collect(ref, tmp_path / "out" / "a.log")
    assert dropped is not None
    assert (tmp_path / "out" / "a.log").read_bytes() == text[: dropped.start] + text[dropped.end :]
    assert (tmp_path / "out" / "a.log").stat().st_size <= 64 << 10
    chunk = await logs.read(ref, len(text) - 10, 100)
    assert (chunk.data, chunk.size, chunk.ended, chunk.dropped) == (text[-10:], len(text), True, dropped)
    assert (await logs.read(ref, dropped.start, 100)).data == b""
    assert await logs.tail_offset(ref, 100_000) == dropped.start
    assert LogSpool(spool.path).dropped == dropped, "a restarted server knows what is missing"
