"""A package that lies in a folder of the cluster, as tasks are started with it."""

from dataclasses import replace

import pytest

from muster.domain.clusters import Folder, PhysicalCluster
from muster.domain.specs import JobSpec, Mount, PackagePlace, Runtime, Ssh
from muster.launch.folder_paths import mounts_of, with_absolute_paths
from tests.unit.launch.gangs import composed, spec

pytestmark = pytest.mark.fast
LAB = PhysicalCluster("lab", "ssh", folders=(Folder("data", "/mnt/data"), Folder("kept", "/mnt/kept", read_only=True)))


def placed(path: str, **more: object) -> JobSpec:
    return with_absolute_paths(replace(spec(), package_place=PackagePlace("lab", path), **more), LAB)  # type: ignore[arg-type]


def test_tasks_enter_the_folder_and_find_its_modules() -> None:
    [request] = composed(placed("data/mine"))
    assert request.argv[3:5] == ("muster-package", "/mnt/data/mine")
    assert request.argv[-2:] == ("python", "train.py")
    assert request.env["PYTHONPATH"] == "/mnt/data/mine"
    assert request.package is None


def test_the_python_path_of_the_job_comes_after_the_package() -> None:
    [request] = composed(placed("data/mine", env={"PYTHONPATH": "/own"}))
    assert request.env["PYTHONPATH"] == "/mnt/data/mine:/own"


def test_containers_see_the_whole_folder_where_the_node_has_it() -> None:
    found = mounts_of(placed("kept/mine", runtime=Runtime(image="paddle:2.6.1")))
    assert found.binds == (Mount("/mnt/kept", "/mnt/kept", read_only=True),)


def test_a_mount_of_the_same_folder_at_its_own_place_is_enough() -> None:
    own = Mount("data", "/mnt/data")
    found = mounts_of(placed("data/mine", runtime=Runtime(image="paddle:2.6.1"), mounts=(own,)))
    assert found.binds == (Mount("/mnt/data", "/mnt/data"),)


def test_a_peer_that_comes_by_ssh_is_in_the_package_too() -> None:
    [request] = composed(placed("data/mine", ssh=Ssh()))
    assert request.argv.index("muster-package") < request.argv.index("muster-ssh")
