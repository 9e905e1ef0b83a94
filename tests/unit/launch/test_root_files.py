"""What a task finds at the root of a file system of its own."""

from dataclasses import replace

import pytest

from muster.domain.launch_requests import RootFiles
from muster.domain.specs import Framework, Mount
from muster.launch.containers import (
    APPTAINER,
    DOCKER,
    PODMAN,
    ContainerLaunch,
    ContainerTask,
    Engine,
    TaskFolder,
    container_launch,
)
from muster.launch.root_files import root_files
from tests.unit.launch.gangs import spec

pytestmark = pytest.mark.fast
PLACE = TaskFolder("/tasks/j1.1.worker.0", 1000, 1000)
ROOTS_DOCKER = Engine(DOCKER, "/usr/bin/docker")
ROOTLESS = Engine(PODMAN, "/usr/bin/podman", rootless=True)
SIF = Engine(APPTAINER, "/usr/bin/apptainer", rootless=True)
PADDLE = RootFiles(("trainer_id", "trainer_count"), ("train.list", "test.list"), covers_image=True)
ID_PLACE = "type=bind,source=/tasks/j1.1.worker.0/trainer_id,target=/trainer_id,readonly"
LIST_PLACE = "type=bind,source=/tasks/j1.1.worker.0/train.list,target=/train.list"


def launched(engine: Engine, files: RootFiles, place: TaskFolder = PLACE) -> ContainerLaunch:
    image = "/images/paddle.sif" if engine.name == APPTAINER else "paddle:2.6.1"
    return container_launch(engine, ContainerTask("j1.1.worker.0", image, ("python",), root_files=files), place)


@pytest.mark.parametrize("framework", list(Framework))
def test_only_jobs_for_paddle_may_hide_files_of_their_image(framework: Framework) -> None:
    assert root_files(spec(framework=framework)).covers_image == (framework is Framework.PADDLE)


def test_a_place_in_which_the_job_mounts_something_is_the_jobs_own() -> None:
    mounts = (Mount("/mnt/a", "/trainer_id"), Mount("/mnt/b", "//train.list/"), Mount("/mnt/c", "test.list"))
    found = root_files(spec(framework=Framework.PADDLE, mounts=mounts))
    assert (found.read, found.written) == (("trainer_count",), ("test.list",))


def test_numbers_are_mounted_read_only_and_lists_so_that_the_account_can_write_them() -> None:
    launch = launched(ROOTS_DOCKER, PADDLE)
    assert ID_PLACE in launch.command
    assert LIST_PLACE in launch.command
    assert launch.files["train.list"] == launch.files["test.list"] == ""


@pytest.mark.parametrize(("engine", "place"), [(ROOTLESS, PLACE), (ROOTS_DOCKER, TaskFolder(PLACE.folder, 0, 0))])
def test_lists_are_not_mounted_where_the_task_is_root_and_can_make_them(engine: Engine, place: TaskFolder) -> None:
    launch = launched(engine, PADDLE, place)
    assert ID_PLACE in launch.command
    assert LIST_PLACE not in launch.command
    assert "train.list" not in launch.files


def test_other_jobs_keep_the_lists_of_their_image() -> None:
    launch = launched(ROOTS_DOCKER, replace(PADDLE, covers_image=False))
    assert ID_PLACE in launch.command
    assert LIST_PLACE not in launch.command


def test_an_image_that_nobody_can_write_gets_the_lists_too() -> None:
    launch = launched(SIF, PADDLE)
    assert f"{PLACE.folder}/trainer_id:/trainer_id:ro" in launch.argv
    assert f"{PLACE.folder}/train.list:/train.list" in launch.argv
    assert launch.files["train.list"] == ""
