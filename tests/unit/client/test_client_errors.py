"""What a program that does not catch an error of the client ends with."""

import traceback

import pytest

from muster.client.errors import MusterError, Problem

pytestmark = pytest.mark.fast


def test_a_traceback_names_every_problem_and_the_hint() -> None:
    problems = [Problem("params.lr", "the job has no such param"), Problem("name", "is required", line=1)]
    error = MusterError("the job spec has 2 problems", code="invalid", hint="see the guide", problems=problems)

    shown = "".join(traceback.format_exception(error))

    assert "params.lr: the job has no such param" in shown
    assert "line 1: name: is required" in shown
    assert shown.endswith("hint: see the guide\n")
    assert str(error) == "the job spec has 2 problems"
