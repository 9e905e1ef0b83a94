"""Every value of every sample replaced by every kind of wrong one: problems with lines, never a crash."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.domain.errors import Invalid
from muster.wire.dialects.streams import read_stream
from muster.wire.documents import Document
from muster.wire.documents import Path as Place
from muster.wire.specs import reading_of

pytestmark = pytest.mark.fast
SAMPLES = Path(__file__).parent / "samples"
WRONG: list[Any] = [5, -1, 1.5, "", "x", True, None, [], [3], ["x"], {}, {"a": 1}, [{"a": 1}], [[1]]]
RICH = (
    "everything-paddle",
    "everything-openpai",
    "everything-openpai-1",
    "everything-pytorch",
    "everything-mpi",
    "everything-volcano",
    "everything-kubernetes",
    "everything-trainjob",
    "everything-tfjob",
    "resnet",
    "storage",
    "openpai-hello-world",
)


@pytest.mark.parametrize("name", RICH)
def test_wrong_value_anywhere_is_a_problem_or_harmless(name: str) -> None:
    document, _ = read_stream((SAMPLES / f"{name}.yaml").read_text())
    for place in places(document.data):
        for wrong in WRONG:
            try:
                reading_of(Document(replaced(document.data, place, wrong), document.lines))
            except Invalid as refused:
                assert refused.problems or refused.message  # noqa: PT017 - which of both does not matter here


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*at, key)
        yield from places(inner, (*at, key))


def replaced(value: Any, place: Place, wrong: Any) -> Any:
    if not place:
        return wrong
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = replaced(value[place[0]], place[1:], wrong)
    return copy
