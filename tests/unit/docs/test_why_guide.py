"""The guide on waiting names every code that a reason to wait can have."""

import ast
from collections.abc import Iterator

import pytest

from muster.engine.lifecycle import dependencies
from tests.unit.docs.pages import ROOT

pytestmark = pytest.mark.fast

GUIDE = ROOT / "docs/guides/why.md"
OF_LEAVING = {"preempted", "reclaimed", "resize"}
"""The reasons for a preemption, of which only the sentence is shown."""
KINDS = ("gpu", "cpu", "memory", "device")
"""What `no-free-…` may be about: a cluster without a node has a reason of its own."""


def test_every_reason_to_wait_is_in_the_guide() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    codes = {code for part in ("scheduling", "engine") for code in _codes(part)}

    assert codes >= OF_LEAVING | {"fragmented", "no-free-gpu", dependencies.CODE}
    assert {code for code in codes - OF_LEAVING if f"`{code}`" not in guide} == set()


def _codes(part: str) -> Iterator[str]:
    """The first argument of every `Reason(…)` in a package."""
    for file in (ROOT / "src/muster" / part).glob("**/*.py"):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Reason":
                yield from _values(call.args[0])


def _values(code: ast.expr) -> list[str]:
    match code:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Name(id="CODE"):
            return [dependencies.CODE]
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), ast.FormattedValue()]):
            return [text + kind for kind in KINDS]
    raise AssertionError(f"this test cannot read the code {ast.unparse(code)}")
