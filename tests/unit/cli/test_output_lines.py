"""The lines of a log are those that a terminal would show, however the bytes arrive."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.cli.logs.cells import clipped, width_of
from muster.cli.logs.output_lines import LONGEST_LINE, Line, OutputLines
from muster.cli.logs.printing import LogPrinter
from muster.cli.terminal import safe_log
from muster.client.handles import LogChunk

pytestmark = pytest.mark.fast

UP, ERASE, RED, RESET = "\x1b[A", "\x1b[2K", "\x1b[31m", "\x1b[0m"
PARTS = ["\r", "\n", "\r\n", "\b", "\t", UP, "\x1b[3A", "\x1b[B", ERASE, "\x1b[K", "\x1b[J", "\x1b[5G", "\x1b[2D", RED]
PARTS += [
    RESET,
    "\x1b",
    "\x1b[",
    "\x1b]52;c;aGk=\x07",
    "\x1b[2J",
    "a",
    "bc",
    "100%",
    " ",
    "中文",
    "é",
    "e\u0301",
    "\u202e",
]


def lines(*pieces: str, longest: int = LONGEST_LINE) -> list[Line]:
    output = OutputLines(str, longest)
    return [line for piece in pieces for line in output.feed(piece)] + output.finish()


def texts(*pieces: str) -> list[str]:
    return [line.text for line in lines(*pieces)]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a\n\nb", ["a", "", "b"]),
        ("windows\r\n", ["windows"]),
        ("10%\r20%\r100%\n", ["100%"]),
        ("100%\r5\n", ["500%"]),
        ("100%\r\x1b[K5\n", ["5"]),
        ("10%\r20%", ["20%"]),
        ("12\b3\n", ["13"]),
        ("中文\rab\n", ["ab文"]),
        ("中文\ra\n", ["a 文"]),
        (f"{RED}10%\r{RED}20%{RESET}\n", [f"{RED}20%{RESET}"]),
        ("\x1b[?25l10%\r20%\x1b[?25h\n", ["20%"]),
        ("a    \n", ["a    "]),
        ("\r\r\r\r\n", [""]),
    ],
)
def test_a_line_is_its_last_frame(written: str, shown: list[str]) -> None:
    assert texts(written) == shown
    assert texts(*written) == shown


def test_bars_below_one_another_are_redrawn_together() -> None:
    """As tqdm does with nested bars, once it has moved up for the first time."""
    frames = "".join(f"\router {n}\n\rinner {n}{UP}" for n in range(5))
    assert texts(frames, "\n\n") == ["outer 0", "outer 4", "inner 4"]


def test_blocks_that_are_erased_from_below_are_redrawn() -> None:
    """As rich does."""
    frame = "a {0}\nb {0}\nc {0}"
    erased = f"\r{ERASE}{UP}{ERASE}{UP}{ERASE}"
    written = erased.join(frame.format(number) for number in range(4)) + "\n"
    assert texts(written)[2:] == ["a 3", "b 3", "c 3"]


def test_lines_are_final_at_once_again_when_nothing_moves_up_any_more() -> None:
    output = OutputLines(str)
    output.feed(f"a\nb{UP}\n")
    output.feed("plain\n" * 300)
    assert [line.text for line in output.feed("now\n")] == ["now"]


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join), st.data())
def test_any_split_of_the_output_gives_the_same_lines(written: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(written)), max_size=8)))
    pieces = [written[start:end] for start, end in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    assert lines(*pieces) == lines(written) == lines(*written)


@given(st.lists(st.sampled_from(["x", "中", "\x07", RED, "é", "e\u0301", "\r", "\b", "\n", "\t", UP]), max_size=60))
def test_long_lines_are_cut_at_the_same_places(letters: list[str]) -> None:
    written = "".join(letters)
    assert lines(*written, longest=5) == lines(*letters, longest=5) == lines(written, longest=5)


def test_memory_is_bounded_however_long_a_line_is() -> None:
    output = OutputLines(safe_log)
    for _ in range(50):
        assert output.feed("\r" * 10_000 + "frame \x1b[32m" * 100) == []
    assert len(output.unfinished[0]) < 20_000
    assert all(len(line.text) < 2 * LONGEST_LINE for line in output.feed("x" * 1_000_000))


@given(st.lists(st.sampled_from(PARTS), max_size=20).map("".join))
def test_a_terminal_obeys_nothing_but_colours(written: str) -> None:
    output = OutputLines(safe_log)
    for line in output.feed(written) + output.finish():
        plain = line.text.replace(RED, "").replace(RESET, "").replace("\t", "")
        assert plain.isprintable() or plain == "e\u0301" or "\u0301" in plain


def test_lines_have_the_time_of_their_first_piece() -> None:
    output = OutputLines(str)
    found = output.feed("a\nb", "1") + output.feed("b\nc\n", "2")
    assert [(line.text, line.time) for line in found] == [("a", "1"), ("bb", "1"), ("c", "2")]


@given(st.lists(st.sampled_from(["a", "中", RED, RESET, "é"])).map("".join), st.integers(0, 12))
def test_what_is_clipped_fits(text: str, columns: int) -> None:
    assert width_of(clipped(text, columns)) <= columns
    assert clipped(text, 1000).startswith(text)


@pytest.mark.parametrize("prefixed", [False, True])
@given(st.lists(st.sampled_from([*PARTS, "plain\n", "x\ny\n"]), max_size=20).map("".join), st.data())
def test_a_file_has_the_same_text_however_the_output_is_cut(prefixed: bool, written: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(written)), max_size=6)))

    def printed(places: list[int]) -> str:
        out = io.StringIO(newline="")
        chunks = [
            LogChunk("job-w-0", start, written[start:end])
            for start, end in zip([0, *places], [*places, len(written)], strict=True)
        ]
        LogPrinter(out, "job", prefixed=prefixed, coloured=False).print(chunk for chunk in chunks if chunk.text)
        return out.getvalue()

    whole = printed([])
    assert printed(cuts) == whole == printed(list(range(1, len(written))))
