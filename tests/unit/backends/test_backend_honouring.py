"""What a cluster says it cannot do, and what it says would do."""

from typing import Any

import pytest

from muster.backends.agents.containers import Engines, Found
from muster.backends.agents.spec_support import cannot_honour
from muster.domain.clusters import Folder, PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.resources import Resources
from muster.domain.specs import JobSpec, Mount, Role, Runtime
from muster.launch.containers import CDI, PODMAN, Engine

pytestmark = pytest.mark.fast
LAB = PhysicalCluster("lab", "ssh", folders=(Folder("data", "/mnt/data"), Folder("envs", "/srv/envs")))
WITH_CONDA = PhysicalCluster("lab", "ssh", conda="/opt/conda")
CARDLESS = Engine(PODMAN, "/usr/bin/podman")
ABLE = Engine(PODMAN, "/usr/bin/podman", gpus=CDI)


class Known(Engines):
    """As after every node was asked."""

    def __init__(self, **found: Found) -> None:
        super().__init__()
        self._found = found


def problems(
    gpus: int = 0,
    settings: PhysicalCluster = LAB,
    engines: Engines | None = None,
    **more: Any,
) -> list[Problem]:
    spec = JobSpec("demo", (Role("worker", 1, ("true",), Resources(gpus=gpus)),), **more)
    return list(cannot_honour(spec, settings, ["gpu1", "gpu2"], engines or Engines()))


def test_plain_job_is_no_problem() -> None:
    assert problems() == []


def test_image_is_refused_only_when_every_node_has_said_that_it_has_no_engine() -> None:
    image = Runtime(image="paddle")
    nothing = Found(None, {})
    assert problems(runtime=image) == []
    assert problems(runtime=image, engines=Known(gpu1=nothing)) == []
    assert problems(runtime=image, engines=Known(gpu1=nothing, gpu2=Found(CARDLESS, {}))) == []
    found = problems(runtime=image, engines=Known(gpu1=nothing, gpu2=Found(None, {"docker": "no daemon"})))
    assert [problem.path for problem in found] == ["runtime.image"]
    assert "docker: no daemon" in found[0].message


@pytest.mark.parametrize("image", ["--privileged", "-v/:/host", "a b", " paddle", "paddle\n"])
def test_image_that_an_engine_would_take_for_something_else_is_refused(image: str) -> None:
    assert [problem.path for problem in problems(runtime=Runtime(image=image))] == ["runtime.image"]


def test_cards_in_containers_need_an_engine_that_hands_them_out() -> None:
    engines = Known(gpu1=Found(CARDLESS, {}), gpu2=Found(CARDLESS, {}))
    assert problems(0, runtime=Runtime(image="paddle"), engines=engines) == []
    found = problems(1, runtime=Runtime(image="paddle"), engines=engines)
    assert "nvidia-ctk" in found[0].hint
    engines = Known(gpu1=Found(CARDLESS, {}, "nothing describes the cards"), gpu2=Found(CARDLESS, {}))
    found = problems(1, runtime=Runtime(image="paddle"), engines=engines)
    assert found[0].message.endswith("can hand out GPUs (podman: nothing describes the cards)")
    able = Known(gpu1=Found(CARDLESS, {}), gpu2=Found(ABLE, {}))
    assert problems(1, runtime=Runtime(image="paddle"), engines=able) == []


def test_a_virtual_environment_is_in_a_folder_of_the_cluster_or_comes_with_the_package() -> None:
    assert problems(runtime=Runtime(venv="envs/venvs/torch2")) == []
    assert problems(runtime=Runtime(venv="/opt/venv")) == []
    (problem,) = problems(runtime=Runtime(venv="env/venvs/torch2"))
    assert (problem.path, problem.hint) == ("runtime.venv", "did you mean envs? known folders: data, envs")
    assert problems(runtime=Runtime(venv="own/venv"), package="sha256:" + "0" * 64) == []


def test_conda_by_name_needs_an_installation() -> None:
    assert [problem.path for problem in problems(runtime=Runtime(conda="py310"))] == ["runtime.conda"]
    assert problems(settings=WITH_CONDA, runtime=Runtime(conda="py310")) == []
    assert problems(runtime=Runtime(conda="/opt/conda/envs/py310")) == []
    assert problems(runtime=Runtime(conda="envs/miniconda3/envs/py310")) == []
    assert [problem.path for problem in problems(runtime=Runtime(conda="elsewhere/x"))] == ["runtime.conda"]


def test_unknown_folder_is_refused_with_the_known_ones() -> None:
    found = problems(mounts=(Mount("dato/criteo", "d"),))
    assert found[0].path == "mounts[0].source"
    assert "did you mean data" in found[0].hint
    assert "envs" in found[0].hint


@pytest.mark.parametrize("source", ["data/../../etc", "/mnt/../etc", "data/.."])
def test_source_does_not_leave_its_folder(source: str) -> None:
    assert [problem.path for problem in problems(mounts=(Mount(source, "d"),))] == ["mounts[0].source"]


def test_absolute_target_without_an_image_is_refused_with_both_ways_out() -> None:
    found = problems(mounts=(Mount("data", "/data"),))
    assert found[0].path == "mounts[0].target"
    assert "relative" in found[0].hint
    assert "runtime.image" in found[0].hint
    assert problems(mounts=(Mount("data", "/data"),), runtime=Runtime(image="paddle")) == []


@pytest.mark.parametrize("target", ["", ".", "..", "a/../b", "a//b"])
def test_target_stays_in_the_working_directory(target: str) -> None:
    assert "mounts[0].target" in [problem.path for problem in problems(mounts=(Mount("data", target),))]


def test_words_that_no_engine_takes_are_refused_with_an_image_only() -> None:
    mounts = (Mount("data/a,b", "c:d"),)
    assert problems(mounts=mounts) == []
    found = problems(mounts=mounts, runtime=Runtime(image="paddle"))
    assert [problem.path for problem in found] == ["mounts[0].source", "mounts[0].target"]


@pytest.mark.parametrize("target", ["/", "//", "/proc", "/proc/sys", "/sys/", "/dev", "/x/../proc", "//proc"])
def test_nothing_is_mounted_where_the_container_itself_has_something(target: str) -> None:
    found = problems(runtime=Runtime(image="paddle"), mounts=(Mount("data", target),))
    assert [problem.path for problem in found] == ["mounts[0].target"]
    assert target in found[0].message


@pytest.mark.parametrize("target", ["/data", "/dev/hugepages", "/process", "data"])
def test_other_targets_in_a_container_are_taken(target: str) -> None:
    assert problems(runtime=Runtime(image="paddle"), mounts=(Mount("data", target),)) == []


def test_a_folder_of_an_image_needs_an_image() -> None:
    (problem,) = problems(runtime=Runtime(workdir="/workspace"))
    assert problem.path == "runtime.workdir"
    assert "names none" in problem.message
    assert problems(runtime=Runtime(workdir="image")) == []
    assert problems(runtime=Runtime(image="paddle", workdir="/workspace")) == []


def test_an_engine_that_does_not_keep_the_folder_of_an_image_is_no_engine_for_that() -> None:
    apptainer = Known(gpu1=Found(Engine("apptainer", "/usr/bin/apptainer"), {}))
    podman = Known(gpu1=Found(CARDLESS, {}))
    (problem,) = problems(runtime=Runtime(image="paddle", workdir="image"), engines=apptainer)
    assert problem.path == "runtime.workdir"
    assert "runtime.workdir: /workspace" in problem.hint
    assert problems(runtime=Runtime(image="paddle", workdir="/workspace"), engines=apptainer) == []
    assert problems(runtime=Runtime(image="paddle", workdir="image"), engines=podman) == []


def test_problems_of_a_storage_are_told_where_the_job_names_it() -> None:
    mounts = (Mount("gone/x", "/data", storage="team"),)
    assert [one.path for one in problems(runtime=Runtime(image="paddle"), mounts=mounts)] == ["mounts[0].storage"]
