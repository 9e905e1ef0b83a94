import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muster.domain.errors import Invalid
from muster.domain.resources import ExtendedDevice
from muster.domain.specs import IMAGE_WORKDIR, Framework, Mount, Runtime

from .gangs import composed, environments, on_engine, placed, role, spec

pytestmark = pytest.mark.fast


def test_identity_says_who_a_task_is() -> None:
    env = environments(spec(role("ps", 1), role("worker", 2)))[2]
    told = {name: env[f"MUSTER_{name}"] for name in ("JOB_ID", "JOB_NAME", "ATTEMPT", "TASK_NAME", "ROLE")}
    assert told == {"JOB_ID": "j1", "JOB_NAME": "demo", "ATTEMPT": "1", "TASK_NAME": "demo-worker-1", "ROLE": "worker"}
    placed_as = {name: env[f"MUSTER_{name}"] for name in ("ROLE_INDEX", "ROLE_COUNT", "RANK", "WORLD_SIZE", "OWNER")}
    assert placed_as == {"ROLE_INDEX": "1", "ROLE_COUNT": "2", "RANK": "2", "WORLD_SIZE": "3", "OWNER": "ada"}
    assert env["MUSTER_HOSTS_WORKER"] == "10.0.0.2,10.0.0.1"


def test_role_env_wins_over_spec_env_and_that_over_the_platform() -> None:
    job = spec(
        role("worker", 2, env={"RANK": "role", "B": "role"}),
        framework=Framework.TORCH,
        env={"RANK": "spec", "WORLD_SIZE": "spec", "B": "spec", "C": "spec", "PYTHONUNBUFFERED": "0"},
    )
    env = environments(job)[0]
    assert (env["RANK"], env["B"]) == ("role", "role")
    assert (env["WORLD_SIZE"], env["C"], env["PYTHONUNBUFFERED"]) == ("spec", "spec", "0")


@pytest.mark.parametrize("name", ["MUSTER_JOB_ID", "MUSTER_OWNER", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"])
def test_users_cannot_change_identity_or_widen_devices(name: str) -> None:
    plain = environments(spec(role()))[0][name]
    assert environments(spec(role(env={name: "0,1,2"}), env={name: "0,1,2"}))[0][name] == plain


def test_users_may_set_what_lets_a_task_call_muster() -> None:
    assert environments(spec(role(env={"MUSTER_SERVER": "http://x"})))[0]["MUSTER_SERVER"] == "http://x"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, True),
        ({"mounts": (Mount("/data", "/data"),)}, True),
        ({"mounts": (Mount("/data", "data"),)}, False),
        ({"package": "0" * 64}, False),
        ({"outputs": ("model/",)}, False),
    ],
)
def test_an_entry_point_starts_where_its_image_says_unless_the_job_has_files_there(
    more: dict[str, Any], expected: bool
) -> None:
    image = Runtime(image="trainer:1")
    found = composed(spec(replace(role(), command=()), runtime=image, **more))[0].workdir
    assert found == (IMAGE_WORKDIR if expected else None)
    assert composed(spec(runtime=image, **more))[0].workdir is None


@pytest.mark.parametrize("workdir", [IMAGE_WORKDIR, "/opt/train"])
@pytest.mark.parametrize("command", [(), ("python", "train.py")])
def test_a_task_starts_where_its_runtime_says_even_if_the_job_has_files(workdir: str, command: tuple[str, ...]) -> None:
    runtime = Runtime(image="trainer:1", workdir=workdir)
    asked = spec(replace(role(), command=command), runtime=runtime, package="0" * 64)
    assert composed(asked)[0].workdir == workdir


def test_cpu_tasks_see_no_device() -> None:
    env = environments(spec(role()))[0]
    assert [env[f"{kind}_VISIBLE_DEVICES"] for kind in ("CUDA", "HIP", "ROCR", "NVIDIA")] == ["", "", "", "void"]


def test_gpu_tasks_see_exactly_the_allotted_devices() -> None:
    env = environments(spec(role("worker", 3, gpus=2)))[2]
    assert [env[f"{kind}_VISIBLE_DEVICES"] for kind in ("CUDA", "NVIDIA", "ROCR", "HIP")] == [
        "2,3",
        "2,3",
        "2,3",
        "0,1",
    ]
    assert env["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_tasks_that_share_a_card_see_it_and_know_their_part() -> None:
    env = environments(spec(role("worker", 2, gpus=1, gpu_share=250), env={"MUSTER_GPU_SHARE": "1"}))[0]
    assert (env["CUDA_VISIBLE_DEVICES"], env["MUSTER_GPU_SHARE"]) == ("0", "0.25")


@pytest.mark.parametrize("gpus", [0, 1, 2])
def test_tasks_with_cards_of_their_own_are_told_of_no_share(gpus: int) -> None:
    assert "MUSTER_GPU_SHARE" not in environments(spec(role(gpus=gpus)))[0]


def test_tasks_know_the_files_of_their_other_devices_whatever_the_user_says() -> None:
    job = spec(role(), env={"MUSTER_DEVICES_XILINX_COM_FPGA": "/dev/mem"})
    given = (
        ExtendedDevice("xilinx.com/fpga", 0, ("/dev/xdma0",)),
        ExtendedDevice("xilinx.com/fpga", 2, ("/dev/xdma2", "/dev/xdma2_user")),
        ExtendedDevice("example.com/dsp.x", 0, ("/dev/dsp0",)),
    )
    (task,) = placed(job)
    (request,) = composed(job, [replace(task, placement=replace(task.placement, extended=given))])
    assert request.extended == given
    assert {name: value for name, value in request.env.items() if name.startswith("MUSTER_DEVICES")} == {
        "MUSTER_DEVICES_XILINX_COM_FPGA": "/dev/xdma0,/dev/xdma2,/dev/xdma2_user",
        "MUSTER_DEVICES_EXAMPLE_COM_DSP_X": "/dev/dsp0",
    }


def test_devices_of_an_engine_are_not_hidden() -> None:
    job = spec(role("worker", 1, gpus=2))
    assert "CUDA_VISIBLE_DEVICES" not in composed(job, [on_engine(task) for task in placed(job)])[0].env


def test_asked_ports_are_told_apart_from_the_frameworks() -> None:
    job = spec(role("worker", 2, ports=2), framework=Framework.TORCH)
    task = composed(job)[0]
    assert task.env["MUSTER_PORTS"] == f"{task.ports[1]},{task.ports[2]}"
    assert task.env["MUSTER_PORT_1"] == str(task.ports[2])
    assert int(task.env["MASTER_PORT"]) == task.ports[0]
    assert task.env["MUSTER_ENDPOINTS_WORKER"] == "10.0.0.1:40001,10.0.0.2:40000"


def test_every_task_knows_all_ports_of_roles_that_have_several() -> None:
    job = spec(role("chief", 1, ports=1), role("worker", 2, ports=3))
    told = environments(job, tasks=[on_engine(task) for task in placed(job)])
    assert {env["MUSTER_PORTS_WORKER"] for env in told} == {"40000,40001,40002;40002,40003,40004"}
    assert all("MUSTER_PORTS_CHIEF" not in env for env in told)  # the first port of each is among the endpoints


def test_a_list_of_ports_that_no_program_could_get_is_left_out() -> None:
    job = spec(role("worker", 2000, ports=10), framework=Framework.NONE)
    assert "MUSTER_PORTS_WORKER" not in environments(job)[0]


def test_a_task_with_too_few_ports_is_refused() -> None:
    job = spec(role("worker", 2), framework=Framework.PADDLE)
    tasks = [replace(task, placement=replace(task.placement, ports=())) for task in placed(job)]
    with pytest.raises(ValueError, match="demo-worker-0 was placed with 0 ports and needs 2"):
        composed(job, tasks)


def test_params_are_given_one_by_one_and_together() -> None:
    env = environments(spec(role(), params={"learning-rate": 0.1, "amp": True, "name": "x y"}))[0]
    assert (env["MUSTER_PARAM_LEARNING_RATE"], env["MUSTER_PARAM_AMP"], env["MUSTER_PARAM_NAME"]) == (
        "0.1", "true", "x y",
    )  # fmt: skip
    assert json.loads(env["MUSTER_PARAMS"]) == {"learning-rate": 0.1, "amp": True, "name": "x y"}


def test_trainer_files_number_the_workers() -> None:
    tasks = composed(spec(role("ps", 2), role("worker", 3)))
    assert [task.files["trainer_id"] for task in tasks] == ["0\n", "1\n", "0\n", "1\n", "2\n"]
    assert {task.files["trainer_count"] for task in tasks} == {"3\n"}


def test_venv_comes_first_on_the_path() -> None:
    env = environments(spec(role(), runtime=Runtime(venv="/opt/py")))[0]
    assert env["PATH"].startswith("/opt/py/bin:/usr/local/sbin:")
    assert env["VIRTUAL_ENV"] == "/opt/py"


@pytest.mark.parametrize(
    ("conda", "prefix"),
    [("py310", "/opt/conda/envs/py310"), ("base", "/opt/conda"), ("/data/envs/x", "/data/envs/x")],
)
def test_conda_environments_are_found_by_name_or_path(conda: str, prefix: str) -> None:
    env = environments(spec(role(), runtime=Runtime(conda=conda)), conda_root="/opt/conda")[0]
    assert (env["CONDA_PREFIX"], env["CONDA_DEFAULT_ENV"]) == (prefix, conda)
    assert env["PATH"].startswith(f"{prefix}/bin:")


def started(venv: Path, command: str) -> "subprocess.CompletedProcess[str]":
    (one,) = composed(spec(replace(role(), command=("/bin/sh", "-c", command)), runtime=Runtime(venv=str(venv))))
    return subprocess.run(one.argv, capture_output=True, text=True, check=False)


def test_a_command_starts_in_an_environment_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    assert started(tmp_path, 'echo "it runs"').stdout == "it runs\n"


def test_no_command_starts_where_its_environment_is_missing(tmp_path: Path) -> None:
    done = started(tmp_path / "nowhere", "echo it runs")
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == f"muster: there is no environment {tmp_path}/nowhere on this node\n"


def test_no_command_starts_where_the_python_of_its_environment_is_gone(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(tmp_path / "gone")
    done = started(tmp_path, "echo it runs")
    assert (done.returncode, done.stdout) == (127, "")
    assert f"the Python of the environment {tmp_path} is gone" in done.stderr


def test_a_conda_name_without_a_root_is_refused_with_advice() -> None:
    with pytest.raises(Invalid) as refused:
        environments(spec(role(), runtime=Runtime(conda="py310")))
    assert "absolute path" in refused.value.hint


def test_limits_and_package_are_passed_on() -> None:
    task = composed(spec(role(), package="sha256:1"))[0]
    assert (task.memory_bytes, task.cpu_m, task.package) == (2**31, 1000, "sha256:1")
