"""Lines of several tasks never mix, however their pieces arrive."""

import io
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.cli.logs.printing import LogPrinter
from muster.client.handles import LogChunk

pytestmark = pytest.mark.fast


def printed(*pieces: tuple[str, str], coloured: bool = False, width: int = 0) -> str:
    out = io.StringIO()
    printer = LogPrinter(out, "mnist", prefixed=True, coloured=coloured, width=width)
    printer.print(chunks(pieces))
    return out.getvalue()


def chunks(pieces: Iterable[tuple[str, str]]) -> Iterator[LogChunk]:
    offsets: dict[str, int] = {}
    for task, text in pieces:
        yield LogChunk(f"mnist-{task}", offsets.get(task, 0), text)
        offsets[task] = offsets.get(task, 0) + len(text.encode())


def test_labels_line_up_when_their_width_is_known() -> None:
    assert printed(("ps-0", "a\n"), ("worker-10", "b\n"), width=9) == "ps-0      | a\nworker-10 | b\n"


def test_each_task_keeps_its_own_colour() -> None:
    text = printed(("ps-0", "a\n"), ("ps-1", "b\n"), ("ps-0", "c\n"), coloured=True)
    colours = [line[: line.index("m") + 1] for line in text.splitlines()]
    assert colours[0] == colours[2] != colours[1]


def test_endless_line_is_broken_rather_than_kept() -> None:
    assert printed(("ps-0", "x" * 70_000), ("ps-1", "y\n")).splitlines()[1] == "ps-1 | y"


def test_what_is_held_is_printed_when_the_stream_breaks() -> None:
    out = io.StringIO()

    def broken() -> object:
        yield LogChunk("mnist-ps-0", 0, "half")
        raise ConnectionError

    with pytest.raises(ConnectionError):
        LogPrinter(out, "mnist", prefixed=True, coloured=False).print(broken())  # type: ignore[arg-type]
    assert out.getvalue() == "ps-0 | half\n"


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.text("xy\n", max_size=6)), max_size=12))
def test_every_line_is_whole_and_in_the_order_of_its_task(pieces: list[tuple[str, str]]) -> None:
    lines = printed(*pieces).splitlines()
    for task in "ab":
        written = "".join(text for name, text in pieces if name == task)
        shown = [line.removeprefix(f"{task} | ") for line in lines if line.startswith(f"{task} | ")]
        assert shown == written.removesuffix("\n").split("\n") if written else shown == []
