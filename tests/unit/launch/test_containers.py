"""The arguments of podman, docker and apptainer, as golden files; and what must never be among them."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from muster.domain.errors import Invalid
from muster.domain.specs import Mount
from muster.launch.containers import (
    APPTAINER,
    CDI,
    DOCKER,
    DRIVER,
    ENV_FILE,
    GPUS,
    HOOK,
    PODMAN,
    PRETENDED,
    ROCM,
    VARIABLES_FILE,
    ContainerLaunch,
    ContainerTask,
    Engine,
    TaskFolder,
    container_launch,
)

pytestmark = pytest.mark.fast
FOLDER = Path(__file__).parent / "golden" / "containers"

PLACE = TaskFolder("/home/lab/.muster-node/tasks/j1.1.worker.0", 1000, 1000)
ENGINES = {
    "podman": Engine(PODMAN, "/usr/bin/podman", rootless=True, gpus=CDI),
    "podman-as-root": Engine(PODMAN, "/usr/bin/podman", init=False, limits=False, gpus=HOOK),
    "docker": Engine(DOCKER, "/usr/bin/docker", gpus=GPUS),
    "apptainer": Engine(APPTAINER, "/usr/bin/apptainer", rootless=True, init=False, limits=False, gpus=DRIVER),
}
CONTENT = ContainerTask(
    task_id="j1.1.worker.0",
    image="paddlepaddle/paddle:2.6.1",
    argv=("python", "train.py", "--note", "a b"),
    env={"EPOCHS": "3", "TOKEN": "hunter2", "LINES": "one\ntwo", "CUDA_VISIBLE_DEVICES": "2,3"},
    mounts=(Mount("/mnt/data/criteo", "/data", read_only=True), Mount("/mnt/models", "/models")),
    devices=(2, 3),
    device_files=("/dev/xdma0", "/dev/xdma1"),
    memory_bytes=2 << 30,
    cpu_m=1500,
)


@pytest.mark.parametrize(
    ("name", "ending"),
    [("podman", ["paddlepaddle/paddle:2.6.1"]), ("apptainer", ["docker://paddlepaddle/paddle:2.6.1"])],
)
def test_the_entry_point_of_an_image_runs_where_the_image_says(name: str, ending: list[str]) -> None:
    content = replace(CONTENT, argv=(), env={"EPOCHS": "3"}, workdir="image")
    told = container_launch(ENGINES[name], content, PLACE)
    assert list(told.command[-1:]) == ending
    assert not {"--entrypoint", "--workdir", "--pwd", "exec"} & set(told.command)
    assert "run" in told.command


def test_the_entry_point_of_an_image_gets_no_variable_that_the_engine_would_change() -> None:
    with pytest.raises(Invalid, match=r"env\.LINES: the entry point of an image cannot get a value like this"):
        container_launch(ENGINES["podman"], replace(CONTENT, argv=()), PLACE)


@pytest.mark.parametrize("name", ENGINES)
def test_what_an_engine_is_told(name: str, golden: Callable[[Path, str], None]) -> None:
    told = container_launch(ENGINES[name], CONTENT, PLACE)
    shown = {"argv": told.argv, "env": told.env, "files": told.files, "name": told.name}
    golden(FOLDER / f"{name}.json", json.dumps(shown, indent=2) + "\n")


@pytest.mark.parametrize("name", ["podman", "apptainer"])
def test_what_an_engine_is_told_for_the_task_of_another_user(name: str, golden: Callable[[Path, str], None]) -> None:
    told = container_launch(ENGINES[name], replace(CONTENT, private_shm_bytes=1 << 30), PLACE)
    golden(FOLDER / f"{name}-isolated.json", json.dumps({"argv": told.argv}, indent=2) + "\n")


@pytest.mark.parametrize("name", ENGINES)
def test_no_value_of_a_variable_stands_among_the_arguments(name: str) -> None:
    told = container_launch(ENGINES[name], CONTENT, PLACE)
    assert not any("hunter2" in word or "one\ntwo" in word for word in told.argv)


@pytest.mark.parametrize("value", ["two\nlines", "a\rb", '"quoted"', "'quoted'", "x" * 40_000])
def test_variable_that_fits_no_line_is_set_by_a_shell_inside(value: str, tmp_path: Path) -> None:
    told = container_launch(ENGINES["podman"], replace(CONTENT, env={"ODD": value}, argv=("printenv", "ODD")), PLACE)
    assert "ODD" not in told.files[ENV_FILE]
    script = tmp_path / VARIABLES_FILE
    script.write_text(told.files[VARIABLES_FILE])
    inside = [str(script) if word == f"{PLACE.folder}/{VARIABLES_FILE}" else word for word in told.argv[-6:]]
    assert inside[0] == "sh"
    assert subprocess.run(inside, capture_output=True, check=True).stdout == value.encode() + b"\n"


@pytest.mark.parametrize("name", ENGINES)
def test_no_variable_of_the_task_is_the_clients_own(name: str) -> None:
    """It has the agent's rights, and its loader would obey."""
    odd = {"LD_PRELOAD": "/tmp/mine.so:\n", "PATH": "'/tmp", "CONTAINERS_CONF": "x" * 40_000}
    told = container_launch(ENGINES[name], replace(CONTENT, env=odd), PLACE)
    assert not odd.keys() & told.env.keys()
    assert all(variable.startswith("APPTAINER") for variable in told.env)


@pytest.mark.parametrize(
    "image",
    [
        "docker-archive:/tmp/mine.tar",
        "docker-archive:mine",
        "oci:mine",
        "dir:mine",
        "tarball:mine",
        "containers-storage:[overlay@/tmp/a+/tmp/b:overlay.mount_program=/tmp/c]localhost/evil:latest",
        "docker://paddle:2.6",
        "/mnt/envs/paddle.sif",
        "../paddle",
        "-v",
        "paddle:2.6,size=1",
        "paddle 2.6",
        "paddle\n",
        "Paddle:2.6",
        "paddle:" + "x" * 129,
        "",
    ],
)
@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_only_names_of_images_are_given_to_engines_that_would_open_files(engine: str, image: str) -> None:
    with pytest.raises(Invalid):
        container_launch(ENGINES[engine], replace(CONTENT, image=image), PLACE)


@pytest.mark.parametrize(
    "image",
    [
        "paddle",
        "paddle:2.6.1-gpu_cuda12",
        "localhost/paddle",
        "localhost:5000/lab/paddle:2.6",
        "registry.lab.example/team/sub-group/paddle__x.y:v1",
        "docker.io/library/python@sha256:" + "a" * 64,
        "python:3.11@sha256:" + "a" * 64,
        "dir/mine:1",
    ],
)
def test_names_of_images_are_given_as_they_are(image: str) -> None:
    assert image in container_launch(ENGINES["podman"], replace(CONTENT, image=image), PLACE).argv


@pytest.mark.parametrize("image", ["/mnt/../etc/x.sif", "/etc/shadow", "file:///etc/shadow", "docker://-v", "oci:x"])
def test_apptainer_takes_no_other_files(image: str) -> None:
    with pytest.raises(Invalid):
        container_launch(ENGINES["apptainer"], replace(CONTENT, image=image), PLACE)


@pytest.mark.parametrize("name", ENGINES)
def test_processes_inside_carry_the_tasks_mark_whatever_the_user_says(name: str) -> None:
    told = container_launch(ENGINES[name], replace(CONTENT, env={"MUSTER_TASK_DIR": "/elsewhere"}), PLACE)
    assert seen(told)["MUSTER_TASK_DIR"] == PLACE.folder


@pytest.mark.parametrize(
    ("gpus", "inside"), [(CDI, "0,1"), (GPUS, "0,1"), (HOOK, "0,1"), (ROCM, "2,3"), (PRETENDED, "2,3")]
)
def test_cards_are_counted_as_the_program_sees_them(gpus: str, inside: str) -> None:
    told = container_launch(replace(ENGINES["podman"], gpus=gpus), CONTENT, PLACE)
    assert seen(told)["CUDA_VISIBLE_DEVICES"] == inside


@pytest.mark.parametrize(
    ("engine", "groups"),
    [
        (Engine(DOCKER, "/usr/bin/docker", gpus=ROCM, groups=(44, 109)), ["44", "109"]),
        (Engine(PODMAN, "/usr/bin/podman", gpus=ROCM, groups=(109,)), ["109"]),
        (Engine(PODMAN, "/usr/bin/podman", rootless=True, gpus=ROCM, groups=(109,)), ["keep-groups"]),
        (Engine(APPTAINER, "/usr/bin/apptainer", rootless=True, gpus=ROCM, groups=(109,)), []),
    ],
)
def test_task_is_in_the_groups_that_may_open_amds_cards(engine: Engine, groups: list[str]) -> None:
    argv = container_launch(engine, CONTENT, PLACE).argv
    assert [argv[place + 1] for place, word in enumerate(argv) if word == "--group-add"] == groups


def test_task_without_cards_asks_for_none() -> None:
    told = container_launch(ENGINES["podman"], replace(CONTENT, devices=(), device_files=()), PLACE)
    assert "--device" not in told.argv


def test_own_home_wins_over_the_working_directory() -> None:
    told = container_launch(ENGINES["docker"], replace(CONTENT, env={"HOME": "/root"}), PLACE)
    assert seen(told)["HOME"] == "/root"


def test_apptainer_hands_on_values_as_they_are() -> None:
    told = container_launch(ENGINES["apptainer"], replace(CONTENT, env={"WORDS": "$(touch /here) `date` $HOME"}), PLACE)
    assert told.env["APPTAINERENV_WORDS"] == "$(touch /here) `date` $HOME"
    assert told.env["APPTAINER_NO_EVAL"] == "true"


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("paddle:2.6", "docker://paddle:2.6"),
        ("library://lab/paddle", "library://lab/paddle"),
        ("/mnt/envs/paddle.sif", "/mnt/envs/paddle.sif"),
    ],
)
def test_apptainer_takes_files_and_addresses_as_they_are(image: str, told: str) -> None:
    assert told in container_launch(ENGINES["apptainer"], replace(CONTENT, image=image), PLACE).argv


def seen(told: ContainerLaunch) -> dict[str, str]:
    """The variables inside."""
    lines = told.files.get(ENV_FILE, "").splitlines()
    inherited = {name.removeprefix("APPTAINERENV_"): value for name, value in told.env.items()}
    return {**dict(line.split("=", 1) for line in lines), **inherited}
