"""What is in force when cluster files have mistakes: each wrong one as it was before, all others as they are."""

import json
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.errors import Invalid, Problem
from muster.ports.cluster_config import ClusterSettings
from muster.settings.kept_files import KeptFiles
from muster.settings.last_good import Settled, settle
from tests.parts.cluster_folders import cluster_folder

pytestmark = pytest.mark.fast

LAB = "name: lab\nbackend: ssh\nnodes: [gpu1, gpu2]\n"
MENDED = "until it is fixed"


class Scene:
    """A folder, and what is in force of it."""

    def __init__(self, path: Path) -> None:
        path.mkdir(exist_ok=True)
        self.folder = cluster_folder(path)
        self.last = Settled(ClusterSettings(), {})

    def write(self, files: Mapping[str, str | None]) -> None:
        for name, text in files.items():
            path = self.folder.path / name
            if text is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(text)

    def settle(self, files: Mapping[str, str | None] | None = None) -> list[str]:
        """The problems after these files were written."""
        self.write(files or {})
        self.last = settle(self.folder, self.last.texts)
        return [str(problem) for problem in self.last.problems]

    @property
    def nodes(self) -> dict[str, list[str]]:
        return {known.name: [node.name for node in known.nodes] for known in self.last.settings.physical}

    @property
    def virtual(self) -> list[str]:
        return [vc.name for vc in self.last.settings.virtual]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "clusters.d")


def test_a_wrong_file_counts_as_before_and_the_others_as_they_are(scene: Scene) -> None:
    assert scene.settle({"lab.yaml": LAB, "vcs.yaml": "name: a\n"}) == []
    told = scene.settle({"lab.yaml": LAB + "nods: [gpu3]\n", "vcs.yaml": "name: b\n", "more.yaml": "name: c\n"})
    assert told == [
        "lab.yaml, line 4: nods: unknown key (did you mean nodes?)",
        f"lab.yaml: its last valid version stays in effect {MENDED}",
    ]
    assert (scene.nodes, scene.virtual) == ({"lab": ["gpu1", "gpu2"]}, ["c", "b"])
    assert scene.last.texts["lab.yaml"] == LAB
    assert scene.settle({"lab.yaml": LAB.replace("gpu2", "gpu3")}) == []
    assert scene.nodes == {"lab": ["gpu1", "gpu3"]}


def test_a_file_that_never_was_right_is_left_out(scene: Scene) -> None:
    told = scene.settle({"lab.yaml": "backend: [", "attic.yaml": "backend: ssh\nnodes: [old]\n"})
    assert told[-1] == f"lab.yaml: is left out {MENDED}"
    assert scene.nodes == {"attic": ["old"]}


def test_what_needs_a_file_that_is_left_out_is_left_out_too_and_says_why(scene: Scene) -> None:
    told = scene.settle({"lab.yaml": LAB + "oops: 1\n", "more.yaml": "cluster: lab\nnodes: [gpu3]\n"})
    assert told[1:] == [
        f"lab.yaml: is left out {MENDED}",
        "more.yaml: is left out: more.yaml, line 1: cluster: there is no cluster 'lab' (known clusters: local)",
    ]
    assert scene.nodes == {}
    assert scene.settle({"lab.yaml": LAB}) == []
    assert scene.nodes == {"lab": ["gpu1", "gpu2", "gpu3"]}


def test_a_machine_that_a_virtual_cluster_needs_is_not_switched_off_and_the_file_to_fix_is_named(scene: Scene) -> None:
    scene.settle({"vcs.yaml": "name: a\n"})
    told = scene.settle({"local.yaml": "backend: local\nenabled: false\n"})
    advice = "add a cluster and name it here, or remove `enabled: false` from local.yaml"
    assert told == [
        f"vcs.yaml, line 1: cluster: is missing, and local is switched off ({advice})",
        "local.yaml: is left out until vcs.yaml is fixed",
    ]
    assert scene.virtual == ["a"]


def test_a_cluster_that_is_not_there_is_told_together_with_the_other_mistakes(scene: Scene) -> None:
    told = scene.settle({"vcs.yaml": "name: a\ncluster: lap\npolicy: best\n"})
    assert [line.partition(": ")[0] for line in told] == ["vcs.yaml, line 2", "vcs.yaml, line 3", "vcs.yaml"]


def test_a_file_that_is_taken_away_is_gone_and_may_come_back(scene: Scene) -> None:
    scene.settle({"lab.yaml": LAB, "vcs.yaml": "name: a\n"})
    assert scene.settle({"lab.yaml": None, "wrong.yaml": "["}) != []
    assert scene.nodes == {}
    assert "lab.yaml" not in scene.last.texts
    scene.settle({"lab.yaml": LAB})
    assert scene.nodes == {"lab": ["gpu1", "gpu2"]}


def test_a_file_that_others_need_stays_though_it_is_taken_away(scene: Scene) -> None:
    scene.settle({"lab.yaml": LAB, "vcs.yaml": "name: a\ncluster: lab\n"})
    assert scene.settle({"lab.yaml": None}) == [
        "vcs.yaml, line 2: cluster: there is no cluster 'lab' (known clusters: local)",
        "lab.yaml: its last valid version stays in effect until vcs.yaml is fixed",
    ]
    assert scene.nodes == {"lab": ["gpu1", "gpu2"]}
    assert scene.settle({"vcs.yaml": None}) == []
    assert scene.nodes == {}


def test_a_new_file_does_not_push_out_one_that_it_contradicts(scene: Scene) -> None:
    scene.settle({"lab.yaml": LAB})
    told = scene.settle({"a-copy.yaml": LAB.replace("gpu1", "gpu9")})
    assert told[0] == "lab.yaml, line 1: name: lab is given twice (also in a-copy.yaml, line 1)"
    assert told[-1].startswith("a-copy.yaml: is left out")
    assert scene.nodes == {"lab": ["gpu1", "gpu2"]}


def test_changes_that_are_right_only_together_are_taken_over_beside_a_mistake(scene: Scene) -> None:
    scene.settle({"lab.yaml": LAB, "attic.yaml": "cluster: lab\nnodes: [gpu3]\n"})
    swapped = {"lab.yaml": LAB.replace("gpu2", "gpu3"), "attic.yaml": "cluster: lab\nnodes: [gpu2]\n"}
    scene.settle({**swapped, "wrong.yaml": "["})
    assert scene.nodes == {"lab": ["gpu1", "gpu3", "gpu2"]}


@pytest.mark.parametrize("wrong", [None, "", "[\n{", '{"name": "n1"}', '[{"name": "n1"}]'])
def test_a_node_list_that_cannot_be_read_counts_as_before(scene: Scene, wrong: str | None) -> None:
    lab = "name: lab\nbackend: ssh\nnodesFile: list.json\n"
    scene.settle({"lab.yaml": lab, "list.json": '[{"name": "n1", "ip": "10.0.0.1"}]'})
    told = scene.settle({"lab.yaml": lab + "nodes: [gpu1]\n", "list.json": wrong})
    assert told[-1] == f"list.json: its last valid version stays in effect {MENDED}"
    assert scene.nodes == {"lab": ["gpu1", "n1"]}
    assert scene.settle({"list.json": "[]"}) == []
    assert scene.nodes == {"lab": ["gpu1"]}


def test_a_list_that_nobody_names_any_more_is_not_kept(scene: Scene) -> None:
    scene.settle({"lab.yaml": "backend: ssh\nnodesFile: list.json\n", "list.json": "[]"})
    assert set(scene.last.texts) == {"lab.yaml", "list.json"}
    assert scene.settle({"lab.yaml": LAB, "list.json": None}) == []
    assert set(scene.last.texts) == {"lab.yaml"}


def test_a_key_that_is_away_or_open_to_others_changes_nothing_and_is_told(scene: Scene) -> None:
    key = scene.folder.path / "key"
    key.write_text("x")
    key.chmod(0o600)
    scene.settle({"lab.yaml": LAB + "defaults: {keyFile: key}\n"})
    key.chmod(0o644)
    (told,) = scene.settle()
    assert told == f"lab.yaml, line 4: defaults.keyFile: others may read key (chmod 600 {key})"
    key.unlink()
    (told,) = scene.settle()
    assert "key cannot be read" in told
    assert scene.nodes == {"lab": ["gpu1", "gpu2"]}


def test_a_key_that_goes_while_files_are_read_is_no_disaster(scene: Scene) -> None:
    key = scene.folder.path / "key"
    key.write_text("x")
    key.chmod(0o600)

    def another_removes_it(_: ClusterSettings) -> list[Problem]:
        key.unlink(missing_ok=True)
        return []

    scene.write({"lab.yaml": LAB + "defaults: {keyFile: key}\n"})
    assert settle(scene.folder, {}, another_removes_it).settings.physical[0].name == "lab"


def test_without_its_folder_everything_stays(scene: Scene) -> None:
    scene.settle({"lab.yaml": LAB})
    scene.folder.path.rename(scene.folder.path.with_name("away"))
    (told,) = scene.settle()
    assert told.startswith(f"{scene.folder.path}: cannot be read")
    assert scene.nodes == {"lab": ["gpu1", "gpu2"]}


def test_what_is_refused_for_another_reason_holds_up_only_its_file(scene: Scene) -> None:
    def refusal(found: ClusterSettings) -> list[Problem]:
        return [Problem("guaranteed", "is too much") for vc in found.virtual if vc.name == "greedy"]

    scene.write({"lab.yaml": LAB, "vcs.yaml": "name: greedy\n"})
    found = settle(scene.folder, {}, refusal)
    assert [str(problem) for problem in found.problems] == [
        "guaranteed: is too much",
        f"vcs.yaml: is left out {MENDED}",
    ]
    assert (set(found.texts), found.settings.virtual) == ({"lab.yaml"}, ())


def test_what_was_kept_and_is_not_understood_any_more_is_passed_over(scene: Scene) -> None:
    scene.write({"lab.yaml": LAB + "oops: 1\n", "vcs.yaml": "name: ["})
    found = settle(scene.folder, {"lab.yaml": LAB, "vcs.yaml": "nam: of another version\n"})
    assert found.texts == {"lab.yaml": LAB}


TEXTS = st.sampled_from(
    [
        None,
        "[",
        "name: a\n",
        "name: lab\n",
        "name: a\ncluster: lab\n",
        LAB,
        "name: lab\nbackend: ssh\nnodesFile: list.json\n",
        "cluster: lab\nnodes: [gpu1, gpu3]\n",
        "nodes: [{name: gpu1, labels: {rack: a}}]\n",
    ]
)
LISTS = st.sampled_from([None, "[", "[]", '[{"name": "n1", "ip": "h"}]', '[{"name": "gpu1", "ip": "h"}]'])


@given(st.lists(st.fixed_dictionaries({"a.yaml": TEXTS, "b.yaml": TEXTS, "c.yaml": TEXTS, "list.json": LISTS})))
def test_whatever_is_written_something_right_is_in_force(
    tmp_path_factory: pytest.TempPathFactory, steps: list[dict[str, str | None]]
) -> None:
    scene = Scene(tmp_path_factory.mktemp("clusters"))
    for files in steps:
        told = scene.settle(files)
        try:
            right = scene.folder.read()
        except Invalid:
            assert told
        else:
            assert (told, scene.last.settings) == ([], right)
        fresh = Scene(scene.folder.path)
        fresh.last = scene.last
        assert (fresh.settle(), fresh.last) == (told, scene.last)  # a start with the same files is the same


def test_what_is_kept_is_for_nobody_else_and_of_one_folder(tmp_path: Path) -> None:
    kept = KeptFiles(tmp_path / "kept.json", tmp_path / "clusters.d")
    assert kept.read() == {}
    kept.write({"a.yaml": "name: ä\n"})
    assert kept.read() == {"a.yaml": "name: ä\n"}
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600
    assert KeptFiles(kept.path, tmp_path / "other").read() == {}


@pytest.mark.parametrize("text", ["", "[]", "{", json.dumps({"folder": "x"})])
def test_what_is_kept_and_broken_is_told(tmp_path: Path, text: str) -> None:
    kept = KeptFiles(tmp_path / "kept.json", tmp_path)
    kept.path.write_text(text)
    with pytest.raises(ValueError, match=r"."):
        kept.read()
