"""Pieces of a log say when they were written, and are selected by it, as nearly as the marks know."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.log_times import LogTimes
from muster.engine.data.log_times import timed, until_offset
from muster.engine.data.logs import Piece

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
TIMES = LogTimes.of([(1000, 4), (2000, 8), (3000, 12)])


def parts(piece: Piece, times: LogTimes) -> list[tuple[str, str]]:
    found = [json.loads(part.payload) for part in timed(piece, times, 9000)]
    return [(one["text"], one["time"][17:23]) for one in found]


def test_a_byte_was_there_at_the_first_mark_behind_it() -> None:
    assert [TIMES.written_at_ms(offset) for offset in (0, 3, 4, 11, 12)] == [1000, 1000, 2000, 3000, None]
    assert [TIMES.since(at) for at in (0, 1000, 1001, 3000, 3001)] == [0, 0, 4, 8, 12]
    assert [TIMES.until(at) for at in (999, 1000, 2999, 9000)] == [0, 4, 8, 12]
    assert LogTimes().since(5) == LogTimes().until(5) == LogTimes().known == 0


def test_lines_get_the_time_at_which_they_were_begun() -> None:
    piece = Piece.of("w", 0, 16, "aa\nb\nccc\nd\nee\nf\n")
    assert parts(piece, TIMES) == [("aa\nb\n", "01.000"), ("ccc\n", "02.000"), ("d\nee\n", "03.000"), ("f\n", "09.000")]


def test_a_piece_that_is_not_text_is_not_cut() -> None:
    assert parts(Piece.of("w", 0, 10, "a\n\ufffd\nb\n"), TIMES) == [("a\n\ufffd\nb\n", "01.000")]


@given(st.text("ab中\n", max_size=40), st.lists(st.integers(1, 60), unique=True).map(sorted))
def test_no_byte_is_lost_or_repeated(text: str, lengths: list[int]) -> None:
    times = LogTimes(list(range(len(lengths))), lengths)
    found = list(timed(Piece.of("w", 7, 7 + len(text.encode()), text), times, 0))
    assert "".join(part.payload_text() for part in found) == text
    assert [part.offset for part in found] == [7, *(part.end for part in found[:-1])]
    assert found[-1].end == 7 + len(text.encode())


async def test_until_ends_with_the_line_of_the_last_byte() -> None:
    async def pieces() -> "object":
        yield Piece.of("w", 0, 4, "a\nb\n")
        yield Piece.of("w", 4, 11, "ccc\nd\ne")
        yield Piece.of("w", 11, 12, "\n")

    for end, text in ((0, ""), (1, "a\n"), (4, "a\nb\n"), (5, "a\nb\nccc\n"), (99, "a\nb\nccc\nd\ne\n")):
        found = [piece.payload_text() async for piece in until_offset(pieces(), end)]  # type: ignore[arg-type]
        assert "".join(found) == text
