"""The part of a log that belongs to the setup."""

import pytest

from muster.cli.logs.setup_part import setup_part
from muster.client.handles import LogChunk

pytestmark = pytest.mark.fast
LOG = "prolog: hi\nmuster: setup: begins\nCollecting x\nmuster: setup: ready\nepoch 1\nmuster: setup: ready\n"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_only_the_lines_of_the_setup_are_shown(size: int) -> None:
    chunks = [LogChunk("t", at, LOG[at : at + size]) for at in range(0, len(LOG), size)]
    shown = "".join(chunk.text for chunk in setup_part(chunks, None))
    assert shown == "muster: setup: begins\nCollecting x\nmuster: setup: ready\n"


def test_it_ends_when_the_setup_of_all_tasks_has_ended() -> None:
    def chunks() -> "object":
        yield LogChunk("a", 0, "muster: setup: ready: prepared before\n")
        yield LogChunk("b", 0, "muster: setup: failed with exit code 1\n")
        raise AssertionError("it was over")

    assert [chunk.task for chunk in setup_part(chunks(), ["a", "b"])] == ["a", "b"]  # type: ignore[arg-type]
