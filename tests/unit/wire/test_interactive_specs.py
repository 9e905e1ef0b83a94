"""`stdin` and `tty` in job files."""

import pytest

from muster.domain.errors import Invalid
from muster.wire.documents import Document
from muster.wire.specs import read_spec, spec_from_document, spec_to_wire

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    "text",
    [
        "name: a\ncommand: python\nstdin: true\ntty: true",
        "name: a\nroles: {worker: {command: python, stdin: true, tty: true}}",
    ],
)
def test_a_role_may_have_standard_input_and_a_terminal(text: str) -> None:
    spec = read_spec(text)
    assert (spec.roles[0].stdin, spec.roles[0].tty) == (True, True)
    assert spec_from_document(Document(spec_to_wire(spec))) == spec


def test_roles_have_neither_by_default() -> None:
    spec = read_spec("name: a\ncommand: python")
    assert (spec.roles[0].stdin, spec.roles[0].tty) == (False, False)
    assert "stdin" not in spec_to_wire(spec)["roles"]["worker"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("name: a\ncommand: python\ntty: true", "tty"),
        ("name: a\nroles: {chief: {command: python, tty: true}}", "roles.chief.tty"),
    ],
)
def test_a_terminal_needs_standard_input(text: str, path: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_spec(text)
    assert [problem.path for problem in refused.value.problems] == [path]
