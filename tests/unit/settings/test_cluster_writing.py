"""Nodes added and removed by command: what is written, what is kept, and that a wrong one changes nothing."""

import stat
import string
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.backends.logins.options import Login
from muster.backends.ssh.options import ssh_nodes
from muster.domain.clusters import RESERVED, PhysicalCluster
from muster.domain.errors import Conflict, Invalid, NotFound, StaleWrite, Unavailable
from muster.settings import folder_lock
from muster.settings.cluster_files import Files, Text, Unreadable
from muster.settings.cluster_writing import add_node, remove_node
from muster.settings.clusters import ClusterFolder
from muster.settings.folder_lock import only_writer
from tests.parts.cluster_folders import cluster_folder

pytestmark = pytest.mark.fast

GPU7 = {"name": "gpu7", "host": "10.0.0.7"}


@pytest.fixture
def folder(tmp_path: Path) -> ClusterFolder:
    (tmp_path / "clusters.d").mkdir()
    return cluster_folder(tmp_path / "clusters.d")


def files(folder: ClusterFolder) -> dict[str, str]:
    found = [path for path in folder.path.rglob("*") if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder.path)): path.read_text() for path in found}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def lab(folder: ClusterFolder) -> PhysicalCluster:
    (found,) = (cluster for cluster in folder.read().physical if cluster.name == "lab")
    return found


def test_the_first_node_makes_the_cluster(folder: ClusterFolder) -> None:
    settings = add_node(folder, "lab", {**GPU7, "user": "li", "port": 24, "labels": {"rack": "0o17"}})
    assert settings == folder.read()
    (member,) = ssh_nodes(lab(folder))
    assert (member.name, member.login) == ("gpu7", Login("10.0.0.7", 24, "li"))
    assert (member.labels, member.file) == ({"rack": "0o17"}, "lab.added.yaml")
    assert set(files(folder)) == {"lab.yaml", "lab.added.yaml"}
    assert {mode(folder.path / name) for name in files(folder)} == {0o600}
    assert files(folder)["lab.added.yaml"].startswith("# Written by `muster node add`")


def test_an_admins_own_cluster_file_is_left_as_it_is(folder: ClusterFolder) -> None:
    own = "# ours\nname: lab\nbackend: ssh\ndefaults: {user: li}\nnodes: [gpu1]\n"
    (folder.path / "boxes.yaml").write_text(own)
    add_node(folder, "lab", GPU7)
    add_node(folder, "lab", {"name": "gpu8", "host": "10.0.0.8"})
    assert [(node.name, node.login.user) for node in ssh_nodes(lab(folder))] == [
        ("gpu1", "li"),
        ("gpu7", "li"),
        ("gpu8", "li"),
    ]
    assert set(files(folder)) == {"boxes.yaml", "lab.added.yaml"}
    assert files(folder)["boxes.yaml"] == own
    remove_node(folder, "lab", "gpu7")
    assert [node.name for node in ssh_nodes(lab(folder))] == ["gpu1", "gpu8"]
    remove_node(folder, "lab", "gpu8")
    assert files(folder) == {"boxes.yaml": own}


@pytest.mark.parametrize(
    ("node", "path"),
    [
        ({"name": "gpu7", "host": "-x"}, "host"),
        ({"name": "gpu7", "host": "10.0.0.7", "keyFile": "missing"}, "keyFile"),
        ({"name": "gpu7", "host": "10.0.0.7", "labels": {"muster/conda": "x"}}, "labels.muster/conda"),
        ({"name": "gpu7", "host": "10.0.0.7", "prot": 22}, "prot"),
        ({"name": "gpu1", "host": "10.0.0.7"}, "name"),
        ({"name": "../gpu7", "host": "10.0.0.7"}, "name"),
        ({"host": "10.0.0.7"}, "name"),
    ],
)
@pytest.mark.parametrize("password", [None, "s3cr3t"])
def test_a_wrong_node_changes_nothing(
    folder: ClusterFolder, node: dict[str, Any], path: str, password: str | None
) -> None:
    (folder.path / "lab.yaml").write_text("backend: ssh\nnodes: [gpu1]\n")
    before = files(folder)
    with pytest.raises(Invalid) as refused:
        add_node(folder, "lab", node, password)
    (problem,) = refused.value.problems
    assert (problem.path, problem.file, problem.line) == (path, "", None)
    assert files(folder) == before


@pytest.mark.parametrize("cluster", ["local", "../lab", "six boxes", ""])
def test_a_cluster_that_cannot_have_nodes_is_refused(folder: ClusterFolder, cluster: str) -> None:
    with pytest.raises(Invalid) as refused:
        add_node(folder, cluster, GPU7)
    assert [problem.path for problem in refused.value.problems] == ["cluster"]
    assert files(folder) == {}


def test_a_mistake_in_another_file_is_no_hindrance(folder: ClusterFolder) -> None:
    (folder.path / "other.yaml").write_text("name: a\nborow: true\n")
    before = files(folder)
    add_node(folder, "lab", GPU7)
    assert set(files(folder)) == {"other.yaml", "lab.yaml", "lab.added.yaml"}
    add_node(folder, "lab", {"name": "gpu8", "host": "10.0.0.8"}, "s3cr3t")
    remove_node(folder, "lab", "gpu7")
    remove_node(folder, "lab", "gpu8")
    assert {name: text for name, text in files(folder).items() if name != "lab.yaml"} == before


def test_a_cluster_whose_file_is_wrong_gets_nodes_as_long_as_it_is_in_force(folder: ClusterFolder) -> None:
    own = "name: lab\nbackend: ssh\ndefaults: {user: li}\nnodes: [gpu1]\n"
    (folder.path / "lab.yaml").write_text(own.replace("ssh", "shh"))
    with pytest.raises(Invalid, match="cluster lab cannot be used because its file has mistakes") as refused:
        add_node(folder, "lab", GPU7)
    assert (
        "lab.yaml, line 2: backend: there is no backend 'shh' (did you mean ssh?)" in refused.value.problems[0].message
    )
    settings = add_node(folder, "lab", GPU7, in_force={"lab.yaml": own})
    assert [(node.name, node.login.user) for node in ssh_nodes(settings.physical[0])] == [
        ("gpu1", "li"),
        ("gpu7", "li"),
    ]
    with pytest.raises(Invalid) as twice:
        add_node(folder, "lab", {"name": "gpu1", "host": "h"}, in_force={"lab.yaml": own})
    assert [problem.path for problem in twice.value.problems] == ["name"]


def test_a_broken_file_of_added_nodes_is_left_alone_and_named(folder: ClusterFolder) -> None:
    add_node(folder, "lab", GPU7)
    (folder.path / "lab.added.yaml").write_text("cluster: lab\nnodes: [\n")
    before = files(folder)
    with pytest.raises(Conflict, match=r"lab\.added\.yaml was changed by hand: line 3"):
        add_node(folder, "lab", {"name": "gpu8"})
    with pytest.raises(Conflict, match=r"lab\.added\.yaml was changed by hand: line 3"):
        remove_node(folder, "lab", "gpu7")
    assert files(folder) == before
    add_node(folder, "attic", GPU7)


def test_a_file_with_the_clusters_name_that_is_something_else_is_not_replaced(folder: ClusterFolder) -> None:
    (folder.path / "lab.yaml").write_text("name: vision\n")
    with pytest.raises(Conflict, match=r"lab\.yaml defines something else"):
        add_node(folder, "lab", GPU7)
    assert files(folder) == {"lab.yaml": "name: vision\n"}


def test_the_name_of_a_virtual_cluster_is_taken(folder: ClusterFolder) -> None:
    (folder.path / "vcs.yaml").write_text("name: lab\n")
    with pytest.raises(Invalid) as refused:
        add_node(folder, "lab", GPU7)
    assert "lab is the name of a physical cluster" in refused.value.problems[0].message
    assert files(folder) == {"vcs.yaml": "name: lab\n"}


def test_a_password_is_kept_in_a_file_of_its_own_and_goes_with_the_node(folder: ClusterFolder) -> None:
    add_node(folder, "lab", GPU7, "s3cr3t")
    secret = folder.path / "secrets" / "lab.gpu7.password"
    assert ssh_nodes(lab(folder))[0].login.password_file == str(secret)
    assert secret.read_text() == "s3cr3t\n"
    assert (mode(secret), mode(secret.parent)) == (0o600, 0o700)
    assert all("s3cr3t" not in text for name, text in files(folder).items() if name.endswith(".yaml"))
    remove_node(folder, "lab", "gpu7")
    assert set(files(folder)) == {"lab.yaml"}


def test_a_second_node_of_the_name_does_not_touch_the_firsts_password(folder: ClusterFolder) -> None:
    add_node(folder, "lab", GPU7, "first")
    before = files(folder)
    with pytest.raises(Invalid):
        add_node(folder, "lab", GPU7, "second")
    assert files(folder) == before


@pytest.mark.parametrize("password", ["", "two\nlines"])
def test_a_password_is_one_line(folder: ClusterFolder, password: str) -> None:
    with pytest.raises(Invalid) as refused:
        add_node(folder, "lab", GPU7, password)
    assert [problem.path for problem in refused.value.problems] == ["password"]
    assert files(folder) == {}


def test_a_node_of_an_admins_own_file_is_not_removed(folder: ClusterFolder) -> None:
    (folder.path / "boxes.yaml").write_text("name: lab\nbackend: ssh\nnodes:\n- gpu1\n")
    with pytest.raises(Conflict, match=r"it is defined in boxes\.yaml, line 4"):
        remove_node(folder, "lab", "gpu1")
    with pytest.raises(NotFound, match="cluster lab has no node 'gpu2'"):
        remove_node(folder, "lab", "gpu2")
    with pytest.raises(NotFound):
        remove_node(folder, "../lab", "gpu2")


def test_what_somebody_wrote_into_the_file_of_added_nodes_is_not_lost(folder: ClusterFolder) -> None:
    add_node(folder, "lab", GPU7)
    file = folder.path / "lab.added.yaml"
    file.write_text(file.read_text() + "---\nname: vision\n")
    before = files(folder)
    with pytest.raises(Conflict, match=r"lab\.added\.yaml was changed by hand"):
        remove_node(folder, "lab", "gpu7")
    with pytest.raises(Conflict, match=r"lab\.added\.yaml was changed by hand"):
        add_node(folder, "lab", {"name": "gpu8"})
    assert files(folder) == before


def test_a_node_whose_password_file_was_lost_can_be_removed(folder: ClusterFolder) -> None:
    add_node(folder, "lab", GPU7, "s3cr3t")
    (folder.path / "secrets" / "lab.gpu7.password").unlink()
    assert remove_node(folder, "lab", "gpu7").physical[0].nodes == ()


NAMES = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8)
TEXTS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
KEYS = st.text(TEXTS, min_size=1, max_size=8).filter(lambda key: not key.startswith(RESERVED))
LABELS = st.dictionaries(KEYS, st.text(TEXTS), max_size=3)


@given(st.lists(st.tuples(NAMES, LABELS), max_size=4, unique_by=lambda node: node[0]), st.data())
def test_what_is_added_is_read_back_and_removing_undoes_it(
    tmp_path_factory: pytest.TempPathFactory, nodes: list[tuple[str, dict[str, str]]], data: st.DataObject
) -> None:
    folder = cluster_folder(tmp_path_factory.mktemp("clusters"))
    (folder.path / "lab.yaml").write_text("backend: ssh\n")
    added = {}
    for name, labels in nodes:
        add_node(folder, "lab", {"name": name, "host": "h", "labels": labels})
        added[name] = labels
    assert {member.name: member.labels for member in ssh_nodes(lab(folder))} == added
    for name in data.draw(st.permutations(list(added))):
        remove_node(folder, "lab", name)
        del added[name]
        assert {member.name: member.labels for member in ssh_nodes(lab(folder))} == added
    assert set(files(folder)) == {"lab.yaml"}


@dataclass(frozen=True)
class EditedFolder(ClusterFolder):
    """Somebody writes a file while the others are read, as an editor would that waits for nobody."""

    edits: list[str] = field(default_factory=list)

    def files(self, before: Files | None = None) -> dict[str, Text | Unreadable]:
        if self.edits:
            (self.path / "lab.added.yaml").write_text(self.edits.pop())
        return super().files(before)


def test_what_somebody_writes_meanwhile_is_not_lost(folder: ClusterFolder) -> None:
    add_node(folder, "lab", {"name": "gpu1", "host": "10.0.0.1"})
    text = files(folder)["lab.added.yaml"]
    edited = EditedFolder(
        folder.path, folder.physical, folder.kinds, [text.replace("gpu1", "gpu2"), text + "# theirs\n"]
    )
    add_node(edited, "lab", GPU7, "s3cr3t")
    assert [member.name for member in ssh_nodes(lab(folder))] == ["gpu2", "gpu7"]
    assert edited.edits == []


def test_who_never_gets_a_turn_changes_nothing_and_is_told(folder: ClusterFolder) -> None:
    add_node(folder, "lab", {"name": "gpu1", "host": "10.0.0.1"})
    text = files(folder)["lab.added.yaml"]
    edited = EditedFolder(folder.path, folder.physical, folder.kinds, [f"{text}# {number}\n" for number in range(100)])
    with pytest.raises(StaleWrite, match=r"lab\.added\.yaml was changed at the same time by somebody else"):
        add_node(edited, "lab", GPU7, "s3cr3t")
    assert [member.name for member in ssh_nodes(lab(folder))] == ["gpu1"]
    assert [name for name in files(folder) if "password" in name] == []


def test_a_folder_that_another_server_does_not_let_go_is_told(
    folder: ClusterFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_lock, "_PATIENCE_S", 0.0)
    with only_writer(folder.path), pytest.raises(Unavailable, match="is locked"):
        add_node(folder, "lab", GPU7)
    add_node(folder, "lab", GPU7)
    assert mode(folder.path / ".lock") == 0o600


def test_a_folder_that_is_away_is_told(folder: ClusterFolder) -> None:
    away = cluster_folder(folder.path / "away", *folder.physical)
    with pytest.raises(Unavailable, match="away cannot be written: No such file or directory"):
        add_node(away, "lab", GPU7)
