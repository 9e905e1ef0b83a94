"""Folders that differ between nodes: who is right, and what is said of the others."""

from typing import Any

import pytest

from muster.backends.agents.shared_folders import folder_problems, new_marker
from muster.domain.clusters import CONDA, Folder, PhysicalCluster, folder_label

pytestmark = pytest.mark.fast
DATA = folder_label("data")


def lab(**more: Any) -> PhysicalCluster:
    return PhysicalCluster("lab", "ssh", folders=(Folder("data", "/mnt/data", **more),))


def marks(**nodes: str) -> dict[str, Any]:
    return {node: {"data": {"marker": marker}} for node, marker in nodes.items()}


def test_same_marker_everywhere_is_in_order() -> None:
    assert folder_problems(lab(), marks(gpu1="a", gpu2="a")) == {"gpu1": {DATA: ""}, "gpu2": {DATA: ""}}


def test_most_nodes_are_right_whoever_was_first() -> None:
    found = folder_problems(lab(), marks(gpu1="b", gpu2="a", gpu3="a"))
    assert found["gpu1"][DATA] == "not the same as on gpu2, gpu3: /mnt/data is another folder there"
    assert not found["gpu2"][DATA]
    assert not found["gpu3"][DATA]


def test_of_two_the_one_with_the_older_marker_is_right_whoever_was_heard_first() -> None:
    """The second is what lies bare under a folder that is not mounted any more."""
    mounted, bare = new_marker(1_700_000_000), new_marker(1_700_000_100)
    for answers in (marks(gpu1=bare, gpu2=mounted), marks(gpu2=mounted, gpu1=bare)):
        found = folder_problems(lab(), answers)
        assert not found["gpu2"][DATA]
        assert found["gpu1"][DATA].startswith("not the same as on gpu2")


def test_a_marker_written_by_hand_goes_before_others() -> None:
    found = folder_problems(lab(), marks(gpu1=new_marker(1_700_000_000), gpu2="of the file server"))
    assert not found["gpu2"][DATA]
    assert found["gpu1"][DATA].startswith("not the same as on gpu2")


def test_a_folder_that_cannot_be_written_still_shows_which_is_right() -> None:
    read_only = {"data": {"problem": "not writable: Read-only file system", "marker": "b"}}
    found = folder_problems(lab(), {**marks(gpu1="a", gpu2="b"), "gpu3": read_only})
    assert found["gpu1"][DATA].startswith("not the same as on gpu2, gpu3")
    assert not found["gpu2"][DATA]
    assert found["gpu3"][DATA] == "not writable: Read-only file system"


def test_a_node_without_the_marker_of_the_others_is_wrong_however_many_there_are() -> None:
    found = folder_problems(lab(read_only=True), marks(gpu1="", gpu2="", gpu3="a"))
    assert found["gpu1"][DATA].startswith("not the same as on gpu3")
    assert not found["gpu3"][DATA]


def test_a_folder_that_is_only_read_and_empty_on_one_node_is_not_the_same() -> None:
    told = {"gpu1": {"data": {"marker": "", "empty": True}}, "gpu2": {"data": {"marker": "", "empty": False}}}
    found = folder_problems(lab(read_only=True), told)
    assert found["gpu1"][DATA] == "not the same as on gpu2: /mnt/data is not empty there"
    assert not found["gpu2"][DATA]


def test_many_nodes_are_named_shortly() -> None:
    answers = marks(**{f"gpu{number}": "a" for number in range(9)}, odd="b")
    assert folder_problems(lab(), answers)["odd"][DATA].startswith("not the same as on gpu0, gpu1, gpu2 and 6 more")


def test_folder_that_is_not_shared_may_differ() -> None:
    assert folder_problems(lab(shared=False), marks(gpu1="", gpu2="b"))["gpu2"][DATA] == ""


def test_problem_of_a_node_is_told_as_it_is_and_its_silence_decides_nothing() -> None:
    answers = {"gpu1": {"data": {"problem": "missing: there is no /mnt/data"}}, **marks(gpu2="a")}
    found = folder_problems(lab(), answers)
    assert found["gpu1"][DATA] == "missing: there is no /mnt/data"
    assert found["gpu2"][DATA] == ""


def test_folder_that_was_not_asked_about_yet_is_left_out() -> None:
    assert folder_problems(lab(), {"gpu1": {}}) == {"gpu1": {}}


def test_conda_in_a_folder_that_is_not_in_order_is_not_in_order() -> None:
    settings = PhysicalCluster("lab", "ssh", folders=(Folder("data", "/mnt/data"),), conda="data/miniconda3")
    answers = marks(gpu1="a", gpu2="b")
    for answer in answers.values():
        answer["/conda"] = {"marker": ""}
    found = folder_problems(settings, answers)
    assert found["gpu1"][CONDA] == ""
    assert found["gpu2"][CONDA].startswith("in folder data, which is not the same as on gpu1")
