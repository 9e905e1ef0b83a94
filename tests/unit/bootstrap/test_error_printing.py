"""What the server and its tools print of errors."""

import pytest

from muster.bootstrap.error_printing import print_error
from muster.domain.errors import Invalid, Problem

pytestmark = pytest.mark.fast


def test_nothing_in_an_error_is_obeyed_by_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    problems = (Problem("k\x1b[31m", "is \u202eunknown"),)
    print_error(Invalid("cannot read a\x07b:\n  第二\u3000行", problems=problems, hint="no\rne"))
    assert capsys.readouterr().err == (
        "error: cannot read a\\x07b:\n  第二\u3000行\n  k\\x1b[31m: is \\u202eunknown\nhint: no\\rne\n"
    )
