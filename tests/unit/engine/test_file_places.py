"""Which folder, which node, and who may: without touching a file."""

from dataclasses import replace
from pathlib import Path

import pytest

from muster.domain.accounts import User, UserRole
from muster.domain.clusters import Folder, PhysicalCluster, folder_label
from muster.domain.errors import Forbidden, Invalid, MusterError, NotFound, Unavailable
from muster.domain.nodes import NodeState
from muster.domain.virtual_clusters import VirtualCluster
from muster.engine.context import Context
from muster.engine.data.file_places import Address, Places
from tests.parts.building import a_node
from tests.parts.fake_backend import FakeBackend

pytestmark = pytest.mark.fast

ME = User("me", UserRole.USER, 0.0, groups=("team",))
OTHER = User("other", UserRole.USER, 0.0)
ADMIN = User("admin", UserRole.ADMIN, 0.0)
FOLDERS = (
    Folder("data", "/srv/data"),
    Folder("fixed", "/srv/fixed", read_only=True),
    Folder("team", "/srv/team", groups=("team",)),
    Folder("mine", "/srv/mine", users=("me",)),
    Folder("scratch", "/local/scratch", shared=False),
)


@pytest.fixture
def backend() -> FakeBackend:
    machines = [replace(a_node(name), state=NodeState.READY) for name in ("n1", "n2", "n3")]
    return FakeBackend(machines=machines, settings=PhysicalCluster("lab", "fake", folders=FOLDERS))


@pytest.fixture
def places(backend: FakeBackend, tmp_path: Path) -> Places:
    context = Context(None, {"lab": backend}, "lab", tmp_path, tmp_path)  # type: ignore[arg-type]
    context.config.virtual["vision"] = VirtualCluster("vision", "lab")
    return Places(context)


def at(path: str, node: str | None = None, cluster: str = "lab") -> Address:
    return Address(cluster, path, node)


@pytest.mark.parametrize(
    ("user", "names"),
    [
        (ME, ["data", "fixed", "team", "mine", "scratch"]),
        (OTHER, ["data", "fixed", "scratch"]),
        (ADMIN, ["data", "fixed", "team", "mine", "scratch"]),
    ],
)
def test_people_see_what_is_open_theirs_or_of_their_groups(places: Places, user: User, names: list[str]) -> None:
    assert [folder.name for folder in places.folders(user, "lab")] == names


def test_a_path_is_found_below_its_folder(places: Places) -> None:
    place = places.place(ME, at("data/a/b"))
    assert (place.root, place.path, place.shown) == ("/srv/data", "a/b", "lab:data/a/b")
    assert places.place(ME, at("data")).path == ""
    assert places.place(ME, at("data/x", cluster="vision")).root == "/srv/data"


@pytest.mark.parametrize(
    ("user", "address", "changing", "error", "words"),
    [
        (OTHER, at("team/x"), False, NotFound, "no folder 'team'"),
        (OTHER, at("mine/x"), False, NotFound, "no folder 'mine'"),
        (ME, at("dat/x"), False, NotFound, "no folder 'dat'"),
        (ME, at(""), False, Invalid, "names no folder"),
        (ME, at("fixed/x"), True, Forbidden, "is read-only"),
        (ADMIN, at("fixed/x"), True, Forbidden, "is read-only"),
        (ME, at("data/x", "n9"), False, NotFound, "no node 'n9'"),
        (ME, at("scratch/x"), False, Invalid, "name the node"),
        (ME, at("data/x", cluster="else"), False, NotFound, "no cluster 'else'"),
    ],
)
def test_what_is_refused_and_how(
    places: Places, user: User, address: Address, changing: bool, error: type[MusterError], words: str
) -> None:
    with pytest.raises(error, match=words):
        places.place(user, address, changing=changing)


def test_who_may_not_write_learns_where_that_is_set(places: Places, backend: FakeBackend) -> None:
    backend.settings = replace(backend.settings, file="/etc/muster/clusters.d/lab.yaml")
    with pytest.raises(Forbidden) as refused:
        places.place(ADMIN, at("fixed/x"), changing=True)
    assert "`readOnly: true` in clusters.d/lab.yaml" in refused.value.hint
    assert places.place(ADMIN, at("fixed/x")).root == "/srv/fixed"


def test_a_shared_folder_stays_with_its_node_while_that_is_ready(places: Places, backend: FakeBackend) -> None:
    first = places.place(ME, at("data/x")).node
    backend.machines = list(reversed(backend.machines))
    assert places.place(ME, at("data/y")).node == first
    backend.machines = [
        replace(node, state=NodeState.UNREACHABLE) if node.name == first else node for node in backend.machines
    ]
    second = places.place(ME, at("data/x")).node
    assert second != first
    backend.machines = [replace(node, state=NodeState.READY) for node in backend.machines]
    assert places.place(ME, at("data/x")).node == second


def test_only_nodes_where_the_folder_is_what_it_should_be_are_asked(places: Places, backend: FakeBackend) -> None:
    n1, n2, n3 = backend.machines
    label = folder_label("data")
    backend.machines = [replace(n1, labels={label: "missing"}), replace(n2, labels={label: "ok"}), n3]
    assert places.place(ME, at("data/x")).node == "n2"
    with pytest.raises(Unavailable, match="missing"):
        places.place(ME, at("data/x", "n1"))
    backend.machines = [replace(n1, labels={label: "missing"})]
    with pytest.raises(Unavailable, match="no node of lab"):
        places.place(ME, at("data/x"))


def test_a_folder_of_each_node_is_found_on_the_node_that_is_named(places: Places, backend: FakeBackend) -> None:
    assert places.place(ME, at("scratch/x", "n2")).node == "n2"
    backend.machines = [replace(node, state=NodeState.CORDONED) for node in backend.machines]
    assert places.place(ME, at("scratch/x", "n2")).node == "n2"
    backend.machines = backend.machines[:1]
    with pytest.raises(Unavailable):
        places.place(ME, at("scratch/x"))
    backend.machines = [replace(node, state=NodeState.READY) for node in backend.machines]
    assert places.place(ME, at("scratch/x")).node == "n1"


def test_two_paths_are_found_on_one_node(places: Places) -> None:
    pair = places.places(ME, [(at("data/x"), False), (at("scratch/y", "n3"), True)])
    assert [place.node for place in pair] == ["n3", "n3"]
    with pytest.raises(Invalid, match="same node"):
        places.places(ME, [(at("scratch/x", "n1"), False), (at("scratch/y", "n2"), True)])
