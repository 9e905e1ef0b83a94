"""The index of lines: any line of any text is found by reading one block, however the text came."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.lib.line_index import BLOCK_BYTES, LineIndex, newlines_of

pytestmark = pytest.mark.fast
PIECES = st.lists(
    st.builds(
        lambda word, times: word * times,
        st.sampled_from([b"\n", b"a", b"one\n", b"x" * 999 + b"\n"]),
        st.integers(0, 3) | st.integers(0, 200),
    ),
    max_size=12,
)


def index_of(pieces: list[bytes]) -> LineIndex:
    index = LineIndex()
    for piece in pieces:
        index.add(newlines_of(piece), len(piece), ends_with_newline=piece.endswith(b"\n"))
    return index


@given(pieces=PIECES)
def test_every_newline_is_in_the_block_that_the_index_names(pieces: list[bytes]) -> None:
    text, index = b"".join(pieces), index_of(pieces)
    assert (index.end, index.newlines) == (len(text), text.count(b"\n"))
    assert index.lines == len(text.splitlines())
    position = -1
    for number in range(1, index.newlines + 1):
        position = text.index(b"\n", position + 1)
        start, before = index.block_with_newline(number)
        assert start <= position < start + BLOCK_BYTES
        assert text.count(b"\n", 0, start) == before


@given(pieces=PIECES, offset=st.integers(0, 300_000))
def test_a_text_that_is_cut_back_and_added_again_is_the_same(pieces: list[bytes], offset: int) -> None:
    text, index = b"".join(pieces), index_of(pieces)
    index.cut_back(offset)
    assert index.end <= offset
    rest = text[index.end :]
    index.add(newlines_of(rest), len(rest), ends_with_newline=text.endswith(b"\n"))
    assert (index.end, index.newlines) == (len(text), text.count(b"\n"))


def test_small_pieces_need_no_more_blocks_than_one_large_one() -> None:
    index = index_of([b"a line\n"] * 100_000)
    assert len(index._offsets) < 3 * 700_000 / BLOCK_BYTES


def test_bytes_that_are_not_there_are_one_line() -> None:
    index = index_of([b"one\ntw"])
    index.skip_to(1_000_000)
    index.add([1], 4, ends_with_newline=True)
    assert (index.lines, index.end) == (3, 1_000_004)
    assert index.block_with_newline(2) == (6, 1)
    assert index.block_with_newline(3) == (1_000_000, 2)
