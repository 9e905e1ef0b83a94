"""Cluster files that are read, tried and replaced as a whole."""

import os
import stat
from pathlib import Path

import pytest

from muster.domain.errors import Conflict, Invalid, NotFound, StaleWrite
from muster.settings.cluster_editing import shown_file, shown_files, tried, write
from muster.settings.clusters import ClusterFolder
from tests.parts.cluster_folders import cluster_folder

pytestmark = pytest.mark.fast
LAB = "name: lab\nbackend: ssh\nnodes:\n- {name: gpu1, host: 127.0.0.1}\n"
WRONG = LAB.replace("host", "hots")


@pytest.fixture
def folder(tmp_path: Path) -> ClusterFolder:
    path = tmp_path / "clusters.d"
    path.mkdir()
    return cluster_folder(path)


def base_of(folder: ClusterFolder, name: str = "lab.yaml") -> str:
    return shown_file(folder, name, {}, previous=False).sha256


def test_a_new_file_a_change_and_the_version_before(folder: ClusterFolder) -> None:
    write(folder, "lab.yaml", LAB, None)
    (folder.path / "lab.yaml").chmod(0o644)
    second = LAB.replace("gpu1", "gpu2")
    write(folder, "lab.yaml", second, base_of(folder))
    (shown,) = shown_files(folder, {"lab.yaml": second})
    assert (shown.text, shown.is_in_force, shown.has_previous, shown.is_masked) == (second, True, True, False)
    assert shown_file(folder, "lab.yaml", {}, previous=True).text == LAB
    assert stat.S_IMODE((folder.path / "lab.yaml").stat().st_mode) == 0o644, "who may read it stays as it was"
    write(folder, "lab.yaml", None, None)
    assert shown_files(folder, {}) == []
    assert shown_file(folder, "lab.yaml", {}, previous=True).text == second


def test_a_mistake_is_told_with_its_line_and_changes_nothing(folder: ClusterFolder) -> None:
    write(folder, "lab.yaml", LAB, None)
    trial = tried(folder, "lab.yaml", WRONG)
    assert [(problem.path, problem.line) for problem in trial.problems] == [("nodes[0].hots", 4)]
    assert "-- {name: gpu1, host: 127.0.0.1}\n+- {name: gpu1, hots: 127.0.0.1}\n" in trial.diff
    assert trial.diff.startswith("--- a/lab.yaml\n+++ b/lab.yaml\n")
    with pytest.raises(Invalid):
        write(folder, "lab.yaml", WRONG, base_of(folder))
    assert (folder.path / "lab.yaml").read_text() == LAB
    assert not (folder.path / ".previous").exists()


def test_a_file_that_others_need_is_not_removed(folder: ClusterFolder) -> None:
    write(folder, "lab.yaml", LAB, None)
    write(folder, "vc.yaml", "name: team\ncluster: lab\n", None)
    with pytest.raises(Invalid) as refused:
        write(folder, "lab.yaml", None, None)
    assert [(problem.file, problem.line) for problem in refused.value.problems] == [("vc.yaml", 2)]
    write(folder, "vc.yaml", None, None)
    write(folder, "lab.yaml", None, None)


def test_only_the_version_that_was_edited_is_replaced(folder: ClusterFolder) -> None:
    write(folder, "lab.yaml", LAB, None)
    base = base_of(folder)
    with pytest.raises(Conflict):
        write(folder, "lab.yaml", LAB, None)
    (folder.path / "lab.yaml").write_text(LAB + "# by hand\n")
    for text in (LAB, None):
        with pytest.raises(StaleWrite):
            write(folder, "lab.yaml", text, base)
    with pytest.raises(StaleWrite):
        write(folder, "gone.yaml", LAB.replace("lab", "gone"), base)
    with pytest.raises(NotFound):
        write(folder, "gone.yaml", None, None)


@pytest.mark.parametrize(
    "name",
    [
        "../lab.yaml",
        "/etc/lab.yaml",
        ".lab.yaml",
        "a/b.yaml",
        "lab.txt",
        "lab",
        "lab.yaml\n",
        ".yaml",
        "..yaml",
        "é.yaml",
    ],
)
def test_no_name_leads_elsewhere(folder: ClusterFolder, name: str) -> None:
    with pytest.raises(Invalid):
        write(folder, name, LAB, None)
    with pytest.raises(Invalid):
        tried(folder, name, LAB)
    with pytest.raises(NotFound):
        shown_file(folder, name, {}, previous=False)
    assert {path.name for path in folder.path.iterdir()} <= {".lock"}


def test_a_link_is_not_replaced(folder: ClusterFolder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "lab.yaml"
    elsewhere.write_text(LAB)
    (folder.path / "lab.yaml").symlink_to(elsewhere)
    with pytest.raises(Conflict, match="is a link"):
        write(folder, "lab.yaml", LAB.replace("gpu1", "gpu2"), base_of(folder))
    assert elsewhere.read_text() == LAB


def test_passwords_are_shown_nowhere_and_a_masked_text_is_refused(folder: ClusterFolder) -> None:
    wrong = LAB + "defaults: {password: hunter2-geheim}\n"
    (folder.path / "lab.yaml").write_text(wrong)
    shown = shown_file(folder, "lab.yaml", {}, previous=False)
    assert ("hunter2" in shown.text, shown.is_masked) == (False, True)
    sent_back = tried(folder, "lab.yaml", shown.text)
    assert [problem.line for problem in sent_back.problems] == [5]
    assert "hunter2" not in tried(folder, "lab.yaml", LAB).diff
    mine = tried(folder, "lab.yaml", wrong + "# more\n")
    assert mine.problems
    assert "hunter2" not in mine.diff + str(mine.problems)


def test_what_is_no_text_is_listed_with_the_reason(folder: ClusterFolder) -> None:
    (folder.path / "lab.yaml").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(folder.path / "pipe.yaml")
    assert [(file.name, bool(file.problem)) for file in shown_files(folder, {})] == [
        ("lab.yaml", True),
        ("pipe.yaml", True),
    ]
    write(folder, "lab.yaml", LAB, base_of(folder))
    assert (folder.path / ".previous" / "lab.yaml").read_bytes() == b"\xff\xfe\x00"
