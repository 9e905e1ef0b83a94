"""Folders that differ between nodes: who is right, and what is said of the others."""

from typing import Any

import pytest

from muster.backends.folders import judged
from muster.domain.clusters import CONDA, Folder, PhysicalCluster, folder_label

pytestmark = pytest.mark.fast
DATA = folder_label("data")


def lab(**more: Any) -> PhysicalCluster:
    return PhysicalCluster("lab", "ssh", folders=(Folder("data", "/mnt/data", **more),))


def marks(**nodes: str) -> dict[str, Any]:
    return {node: {"data": {"marker": marker}} for node, marker in nodes.items()}


def test_same_marker_everywhere_is_in_order() -> None:
    assert judged(lab(), marks(gpu1="a", gpu2="a")) == {"gpu1": {DATA: ""}, "gpu2": {DATA: ""}}


def test_most_nodes_are_right_whoever_was_first() -> None:
    found = judged(lab(), marks(gpu1="b", gpu2="a", gpu3="a"))
    assert found["gpu1"][DATA] == "not the same as on gpu2, gpu3: /mnt/data is another folder there"
    assert not found["gpu2"][DATA]
    assert not found["gpu3"][DATA]


def test_of_two_the_earlier_is_right() -> None:
    found = judged(lab(), marks(gpu2="b", gpu1="a"))
    assert not found["gpu2"][DATA]
    assert found["gpu1"][DATA].startswith("not the same as on gpu2")


def test_many_nodes_are_named_shortly() -> None:
    answers = marks(**{f"gpu{number}": "a" for number in range(9)}, odd="b")
    assert judged(lab(), answers)["odd"][DATA].startswith("not the same as on gpu0, gpu1, gpu2 and 6 more")


def test_folder_that_is_not_shared_may_differ() -> None:
    assert judged(lab(shared=False), marks(gpu1="", gpu2="b"))["gpu2"][DATA] == ""


def test_problem_of_a_node_is_told_as_it_is_and_its_silence_decides_nothing() -> None:
    answers = {"gpu1": {"data": {"problem": "missing: there is no /mnt/data"}}, **marks(gpu2="a")}
    found = judged(lab(), answers)
    assert found["gpu1"][DATA] == "missing: there is no /mnt/data"
    assert found["gpu2"][DATA] == ""


def test_folder_that_was_not_asked_about_yet_is_left_out() -> None:
    assert judged(lab(), {"gpu1": {}}) == {"gpu1": {}}


def test_conda_in_a_folder_that_is_not_in_order_is_not_in_order() -> None:
    settings = PhysicalCluster("lab", "ssh", folders=(Folder("data", "/mnt/data"),), conda="data/miniconda3")
    answers = marks(gpu1="a", gpu2="b")
    for answer in answers.values():
        answer["/conda"] = {"marker": ""}
    found = judged(settings, answers)
    assert found["gpu1"][CONDA] == ""
    assert found["gpu2"][CONDA].startswith("in folder data, which is not the same as on gpu1")
