"""The entry points of other distributions: what is loaded, and what is refused in which words."""

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, cast

import pytest

from muster.backends.kinds import BackendKind, Site
from muster.backends.ssh.kind import SSH
from muster.bootstrap.backend_kinds import BUILT_IN
from muster.bootstrap.extensions import guarded_builder, load_extensions
from muster.bootstrap.plugins import BACKENDS, Plugins, load_plugins
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError
from muster.settings.cluster_kinds import ClusterKind
from muster.wire.dialects import detecting

pytestmark = pytest.mark.fast
VALUE = "muster.backends.ssh.kind:SSH"


def loaded(*points: tuple[str, str], taken: tuple[str, ...] = ()) -> Plugins[BackendKind]:
    found = [EntryPoint(name, value, BACKENDS) for name, value in points]
    return load_plugins(BACKENDS, BackendKind, taken, lambda group: found if group == BACKENDS else [])


def test_an_object_of_the_right_kind_is_found() -> None:
    assert loaded(("ssh", VALUE)) == Plugins((SSH,))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("local", VALUE, "the name is taken"),
        ("x", "muster.nowhere:X", "it cannot be loaded: ModuleNotFoundError: No module named 'muster.nowhere'"),
        ("x", "muster.backends.ssh.kind:partial", "muster.backends.ssh.kind:partial is not a BackendKind"),
        ("x", VALUE, "it calls itself 'ssh'"),
    ],
)
def test_what_cannot_be_used_is_a_problem_and_harms_no_other(name: str, value: str, expected: str) -> None:
    found = loaded((name, value), ("ssh", VALUE), taken=("local",))
    (problem,) = found.problems
    assert f"the plugin {name} of muster.backends is not used: {expected}" in str(problem)
    assert found.found == (SSH,)


def test_of_two_plugins_of_one_name_the_first_is_used() -> None:
    found = loaded(("ssh", VALUE), ("ssh", "muster.nowhere:X"))
    assert len(found.found) == 1
    assert len(found.problems) == 1


def test_a_server_without_plugins_has_what_muster_brings() -> None:
    extensions = load_extensions()
    assert extensions.backends[: len(BUILT_IN)] == BUILT_IN
    assert extensions.dialects[: len(detecting.DIALECTS)] == detecting.DIALECTS


def test_a_builder_that_fails_is_an_error_of_its_cluster(tmp_path: Path) -> None:
    def broken(site: Site) -> Any:
        raise RuntimeError("no licence")

    build = guarded_builder(BackendKind(ClusterKind("frail"), broken), Site(tmp_path, "me", cast("Any", None)))
    with pytest.raises(BackendError, match="the backend frail cannot be built: RuntimeError: no licence"):
        build(PhysicalCluster("lab", "frail"))
