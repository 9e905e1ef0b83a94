"""Paths that begin with a folder's name, and where mounts go with and without a container."""

import pytest

from muster.domain.clusters import Folder, PhysicalCluster
from muster.domain.specs import Mount, Runtime
from muster.launch.folder_paths import mounts_of, with_absolute_paths

from .gangs import composed, spec

pytestmark = pytest.mark.fast
LAB = PhysicalCluster(
    "lab",
    "ssh",
    folders=(Folder("data", "/mnt/data"), Folder("envs", "/srv/envs"), Folder("public", "/pub", read_only=True)),
    conda="envs/miniconda3",
)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (Runtime(venv="envs/venvs/py310"), Runtime(venv="/srv/envs/venvs/py310")),
        (Runtime(venv="/opt/venv"), Runtime(venv="/opt/venv")),
        (Runtime(venv=".venv"), Runtime(venv=".venv")),
        (Runtime(venv="own/venv"), Runtime(venv="own/venv")),
        (Runtime(conda="py310"), Runtime(conda="py310")),
        (Runtime(conda="envs/other/envs/x"), Runtime(conda="/srv/envs/other/envs/x")),
        (Runtime(image="data/paddle"), Runtime(image="data/paddle")),
        (Runtime(image="data/paddle.sif"), Runtime(image="/mnt/data/paddle.sif")),
    ],
)
def test_runtime_may_begin_with_a_folders_name(written: Runtime, found: Runtime) -> None:
    assert with_absolute_paths(spec(runtime=written), LAB).runtime == found


def test_conda_environment_by_name_is_of_the_clusters_installation() -> None:
    job = with_absolute_paths(spec(runtime=Runtime(conda="py310")), LAB)
    env = composed(job, conda_root=LAB.conda_root)[0].env
    assert env["CONDA_PREFIX"] == "/srv/envs/miniconda3/envs/py310"
    assert env["PATH"].startswith("/srv/envs/miniconda3/envs/py310/bin:")


def test_without_an_image_targets_are_links() -> None:
    job = with_absolute_paths(spec(mounts=(Mount("data/criteo", "in/criteo"), Mount("/scratch", "scratch"))), LAB)
    assert mounts_of(job).links == {"in/criteo": "/mnt/data/criteo", "scratch": "/scratch"}
    assert mounts_of(job).binds == ()


def test_with_an_image_absolute_targets_are_mounted_and_relative_ones_linked_to_the_same_path() -> None:
    mounts = (Mount("data/criteo", "/data"), Mount("data/models", "models"), Mount("public", "/public"))
    job = with_absolute_paths(spec(runtime=Runtime(image="paddle"), mounts=mounts), LAB)
    assert mounts_of(job).binds == (
        Mount("/mnt/data/criteo", "/data"),
        Mount("/mnt/data/models", "/mnt/data/models"),
        Mount("/pub", "/public", read_only=True),
    )
    assert mounts_of(job).links == {"models": "/mnt/data/models"}
