"""Masking of secrets in logs: the same whatever the pieces in which a log is written and read."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.agent.tasks import masking
from muster.agent.tasks.log_limits import Dropped
from muster.agent.tasks.logs import read_log
from muster.agent.tasks.masking import LONGEST, MOST_PARTS, Masks
from muster.agent.tasks.table import ENDED, Task
from muster.agent.tasks.task_secrets import mask_file, mask_log

pytestmark = pytest.mark.fast

# Few letters, so that parts overlap, repeat and begin in each other.
TEXTS = st.text("ab\n", max_size=60).map(str.encode)
VALUES = st.lists(st.text("ab\n", min_size=1, max_size=12).map(str.encode), min_size=1, max_size=3)


@pytest.mark.parametrize(
    ("values", "log", "shown"),
    [
        ([b"hunter2"], b"the password is hunter2!", b"the password is *******!"),
        ([b"abc"], b"abc is too short to be masked", b"abc is too short to be masked"),
        ([b"first line\n  second\r\n\nx\n"], b"second, first line, x", b"******, **********, x"),
        ([b"abab"], b"ababab", b"******"),
        ([b"abcdef", b"defghi"], b"abcdefghi", b"*********"),
        ([b"\xff\xfe\x00\x01"], b"<\xff\xfe\x00\x01>", b"<****>"),
        ([b"g\xc3\xbcltig"], "gültig".encode(), b"*******"),
    ],
)
def test_every_line_of_a_value_is_masked_by_as_many_asterisks(values: list[bytes], log: bytes, shown: bytes) -> None:
    assert Masks(values).masked(log) == shown


def test_of_very_many_lines_the_longest_are_masked() -> None:
    lines = [b"%05d" % number for number in range(MOST_PARTS)]
    masks = Masks([b"\n".join(lines), b"the longest of all"])
    assert masks.masked(b"the longest of all") == b"*" * 18
    assert sum(masks.masked(line) == line for line in lines) == 1


def test_a_very_long_line_is_masked_in_pieces() -> None:
    line = bytes(range(33, 127)) * 50
    masks = Masks([line])
    assert masks.margin < LONGEST
    assert masks.masked(b"<" + line + b">") == b"<" + b"*" * len(line) + b">"


@pytest.mark.parametrize(
    "values",
    [
        [b"a" * length for length in range(64, 64 + MOST_PARTS)],
        [b"a" * 40 + b"b" + b"a" * 40 + b"%d" % number for number in range(MOST_PARTS)],
    ],
    ids=["found-everywhere", "almost-found-everywhere"],
)
def test_secrets_that_are_chosen_to_cost_time_mask_the_whole_log(
    values: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masking, "_SEARCH_S", 0.001)
    masks, log = Masks(values), b"a" * (1 << 19) + b"\nother text\n"
    assert masks.masked(log) == b"*" * (1 << 19) + b"\n**********\n"
    assert masks.masked(b"short\n") == b"*****\n"
    assert masks.begun(b"aaaa") == 0


@given(VALUES, TEXTS, st.lists(st.integers(1, 7), max_size=40), st.integers(1, 9))
def test_what_is_read_while_a_log_grows_is_what_it_shows_in_the_end(
    values: list[bytes], text: bytes, steps: list[int], limit: int
) -> None:
    with Log(values) as log:
        seen = b""
        for step in [*steps, len(text)]:
            text = log.grow(text, step)
            seen = log.read_on(seen, limit)
        assert len(seen) == log.task.log_bytes()
        log.task.phase = ENDED
        seen = log.read_on(seen, limit)
        assert seen == log.masks.masked_to_end(log.written)
        assert len(seen) == log.task.log_bytes() == len(log.written)


@given(VALUES, TEXTS, st.integers(1, 20))
def test_a_file_is_masked_where_it_lies_as_it_was_shown(values: list[bytes], text: bytes, window: int) -> None:
    with Log(values) as log:
        log.grow(text, len(text))
        mask_file(log.file, log.masks, 0, len(text), window)
        assert os.pread(log.file, 1000, 0) == log.masks.masked_to_end(text)


def test_what_was_dropped_from_a_log_stays_a_hole(tmp_path: Path) -> None:
    log, masks = tmp_path / "log", Masks([b"hunter2"])
    file = os.open(log, os.O_RDWR | os.O_CREAT, 0o600)
    end = 64 << 20
    os.pwrite(file, b"first hunter2\n", 0)
    os.pwrite(file, b"last hunter2\n", end)
    mask_log(file, masks, Dropped(14, end))
    info = os.fstat(file)
    assert (os.pread(file, 14, 0), os.pread(file, 20, end)) == (b"first *******\n", b"last *******\n")
    assert info.st_blocks * 512 < 1 << 20
    os.close(file)


@given(VALUES, TEXTS)
def test_no_part_of_a_value_is_left(values: list[bytes], text: bytes) -> None:
    masked = Masks(values).masked(text)
    assert len(masked) == len(text)
    parts = [line.strip() for value in values for line in value.splitlines()]
    assert not [part for part in parts if len(part) >= 4 and part in masked]


class Log:
    """A log in a folder of its own that hypothesis can make many of."""

    def __init__(self, values: list[bytes]) -> None:
        self.masks = Masks(values)
        self.written = b""

    def __enter__(self) -> "Log":
        folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"masking-{os.getpid()}"
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.file = os.open(folder / "log", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.task = Task("t", str(folder))
        self.task.masks = self.masks
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.file)
        (self.folder / "log").unlink()
        self.folder.rmdir()

    def grow(self, text: bytes, count: int) -> bytes:
        """Write so many bytes of the text. Returns the rest."""
        os.pwrite(self.file, text[:count], len(self.written))
        self.written += text[:count]
        return text[count:]

    def read_on(self, seen: bytes, limit: int) -> bytes:
        while piece := read_log(self.task, len(seen), limit)["data"]:
            seen += piece
        return seen
