"""What `muster cluster check --connect` says of the nodes of an SSH cluster."""

import pytest

from muster.backends.ssh.examination import examination, python_problem

pytestmark = pytest.mark.fast


def test_a_cluster_of_which_no_node_can_be_used_has_mistakes() -> None:
    found = examination({"gpu1": "no answer in time", "gpu2": "no answer in time"})
    assert found.failures == [f"node gpu{n} cannot be used: no answer in time" for n in (1, 2)]


def test_nodes_that_cannot_be_used_beside_others_are_warned_of() -> None:
    found = examination({"gpu1": "", "gpu2": "no answer in time"})
    assert (found.failures, found.notes) == ((), ["1 of 2 nodes can be used"])
    assert found.warnings == ["node gpu2 cannot be used: no answer in time"]


@pytest.mark.parametrize(
    ("out", "err"), [("", "sh: 1: python3.12: not found\n"), ("welcome to gpu1\n", "no such file")]
)
def test_a_python_that_does_not_run_is_told_with_what_it_said(out: str, err: str) -> None:
    said = python_problem("python3.12", out, err)
    assert said.startswith("python3.12 does not run there: ")
    assert err.strip() in said


@pytest.mark.parametrize(("out", "is_old"), [("3 7\n", True), ("hello\n3 8\n", False), ("3 12\n", False)])
def test_a_python_that_is_too_old_is_told(out: str, is_old: bool) -> None:
    assert ("3.8 or newer is needed" in python_problem("python3", out, "")) == is_old
