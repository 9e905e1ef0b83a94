"""What becomes of the arguments of `paddlecloud submit`, without a server."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from muster.wire.dialects.detecting import translate
from muster.wire.dialects.paddle import paddlecloud
from muster.wire.dialects.paddle.paddlecloud import Submitter
from muster.wire.dialects.translation import Translation
from muster.wire.documents import Document
from tests.conformance.paddlecloud.go_client import DEFAULTS

pytestmark = pytest.mark.fast
ME = Submitter("me@example.org", frozenset({"home", "public"}))


def submitted(by: Submitter | None = ME, **arguments: Any) -> Translation:
    body = {**DEFAULTS, "datacenter": "lab", "entry": "python train.py", "jobPackage": "./pkg", **arguments}
    return paddlecloud.translate(Document(body), by)


def test_trainers_and_pservers_become_roles_with_what_each_of_them_asks_for() -> None:
    job = submitted(name="mnist", parallelism=3, pservers=2, cpu=2, gpu=1, memory="4Gi", pscpu=3, psmemory="512Mi")
    assert not job.refusals
    assert (job.data["name"], job.data["cluster"], job.data["framework"]) == ("mnist", "lab", "paddle")
    worker, ps = job.data["roles"]["worker"], job.data["roles"]["ps"]
    assert (worker["replicas"], worker["resources"]) == (3, {"cpu": 2, "memory": "4Gi", "gpu": 1})
    assert (ps["replicas"], ps["resources"]) == (2, {"cpu": 3, "memory": "512Mi"})


def test_without_a_number_there_are_as_many_pservers_as_trainers() -> None:
    assert submitted(parallelism=4, pservers=0).data["roles"]["ps"]["replicas"] == 4


def test_every_pod_gets_the_variables_that_paddlecloud_sets() -> None:
    job = submitted(name="mnist", parallelism=3, pservers=2, cpu=2, passes=5)
    assert job.data["env"] == {
        "PADDLE_JOB_NAME": "mnist",
        "TRAINERS": "3",
        "PSERVERS": "2",
        "TOPOLOGY": "",
        "ENTRY": "python train.py",
        "TRAINER_PACKAGE": "/pfs/lab/home/me@example.org/jobs/mnist",
        "PADDLE_INIT_PORT": "7164",
        "PADDLE_INIT_TRAINER_COUNT": "2",
        "PADDLE_INIT_PORTS_NUM": "1",
        "PADDLE_INIT_PORTS_NUM_FOR_SPARSE": "1",
        "PADDLE_INIT_NUM_GRADIENT_SERVERS": "3",
        "PADDLE_INIT_NUM_PASSES": "5",
        "PADDLE_INIT_USE_GPU": "0",
        "PADDLE_CLOUD_CURRENT_DATACENTER": "lab",
        "PADDLE_CLOUD_USERNAME": "me@example.org",
        "NAMESPACE": "me-example-org",
    }
    with_gpu = submitted(cpu=2, gpu=4).data["env"]
    assert (with_gpu["PADDLE_INIT_TRAINER_COUNT"], with_gpu["PADDLE_INIT_USE_GPU"]) == ("4", "1")


@pytest.mark.parametrize(
    ("given", "package", "found_at"),
    [
        ("./pkg", "lab:home/me@example.org/jobs/mnist", "/pfs/lab/home/me@example.org/jobs/mnist"),
        (
            "/pfs/lab/home/me@example.org/idl/pkg/",
            "lab:home/me@example.org/idl/pkg",
            "/pfs/lab/home/me@example.org/idl/pkg",
        ),
        ("/pfs/lab/public/demo", "lab:public/demo", "/pfs/lab/public/demo"),
    ],
)
def test_the_package_is_used_where_it_lies(given: str, package: str, found_at: str) -> None:
    job = submitted(name="mnist", jobPackage=given)
    assert (job.data["package"], job.data["env"]["TRAINER_PACKAGE"]) == (package, found_at)


def test_with_an_image_the_storage_is_mounted_where_programs_look_for_it() -> None:
    job = submitted(image="registry.example.org/paddle:0.10", registry="mine")
    assert job.data["runtime"] == {"image": "registry.example.org/paddle:0.10", "pullSecret": "pcloud-registry-mine"}
    assert job.data["mounts"] == [
        {"source": "home", "target": "/pfs/lab/home"},
        {"source": "public", "target": "/pfs/lab/public", "readOnly": True},
    ]
    assert "mounts" not in submitted().data


def test_a_file_with_an_image_mounts_what_it_names_of_the_storage_and_tells_what_it_lacks() -> None:
    job = submitted(None, image="app:1", entry="python train.py /pfs/lab/public/digits")
    assert job.data["mounts"] == [{"source": "public", "target": "/pfs/lab/public", "readOnly": True}]
    assert any("image: the container has no /pfs/lab/home, which" in warning for warning in job.warnings)

    from_storage = submitted(None, image="app:1", jobPackage="/pfs/lab/home/me/jobs/mnist", entry="ls /pfs/lab/public")
    assert [mount["source"] for mount in from_storage.data["mounts"]] == ["home", "public"]
    assert not [warning for warning in from_storage.warnings if "/pfs" in warning]


def test_a_file_that_names_the_storage_of_another_data_centre_is_refused() -> None:
    [problem] = submitted(None, image="app:1", entry="ls /pfs/moon/home").problems
    assert "/pfs/moon is the storage of another data centre than 'lab'" in str(problem)


def test_fault_tolerance_is_refused_with_what_is_missing() -> None:
    (problem,) = submitted(faulttolerant=True).problems
    assert problem.path == "faulttolerant"
    assert "etcd" in problem.message


@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ({"entry": "", "topology": ""}, "entry", "no topology or entry specified"),
        ({"datacenter": ""}, "datacenter", "no datacenter specified"),
        ({"parallelism": -1}, "parallelism", "is -1"),
        ({"cpu": 0.5}, "cpu", "is 0.5"),
        ({"memory": 1}, "memory", "is 1"),
    ],
)
def test_what_paddlecloud_refuses_is_refused_in_its_words(arguments: dict[str, Any], path: str, message: str) -> None:
    (problem,) = submitted(**arguments).problems
    assert (problem.path, problem.message) == (path, message)


def test_what_has_no_effect_is_told() -> None:
    warnings = submitted(minInstance=2, registry="mine", colour="red").warnings
    assert {warning.partition(":")[0] for warning in warnings} == {"minInstance", "registry", "colour", "image"}


def test_a_file_with_these_arguments_is_a_job_whose_package_lies_beside_it() -> None:
    job = translate(Document({**DEFAULTS, "jobPackage": "./pkg", "entry": "python train.py"}))
    assert job is not None
    assert not job.refusals
    assert (job.data["package"], job.data["name"]) == ("./pkg", "paddle-cluster-job")
    assert "cluster" not in job.data


def run(job: Translation, role: str, folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Runs the command of a role as a node would, with the variables that Muster adds."""
    env = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "PYTHONPATH": "/before", **job.data["env"], **variables}
    argv = job.data["roles"][role]["command"]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    return tmp_path


def paddle(folder: Path) -> None:
    """A program of the name, which prints how it was called."""
    program = folder / "bin" / "paddle"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)


GANG = {
    "MUSTER_HOSTS_PS": "10.0.0.1,10.0.0.2",
    "PADDLE_TRAINERS": "10.0.0.3,10.0.0.4",
    "PADDLE_TRAINER_ID": "1",
    "PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.1:40001,10.0.0.2:40001",
}


def test_a_trainer_runs_its_entry_in_the_package_with_what_is_known_only_then(folder: Path) -> None:
    entry = (
        'echo "$PADDLE_INIT_PSERVERS $PADDLE_INIT_TRAINER_ID $PADDLE_INIT_PORT $PADDLE_TRAINER_IPS'
        ' $PADDLE_PSERVER_IPS"; pwd; echo "$TRAINER_PACKAGE $PYTHONPATH"; exit 7'
    )
    ran = run(submitted(entry=entry), "worker", folder, **GANG)
    assert ran.returncode == 7, ran.stderr
    assert ran.stdout.splitlines() == [
        "10.0.0.1,10.0.0.2 1 40001 10.0.0.3,10.0.0.4 10.0.0.1,10.0.0.2",
        str(folder),
        f"{folder} {folder}:/before",
    ]


def test_pservers_at_different_ports_are_refused_only_if_there_is_a_program_that_would_use_them(folder: Path) -> None:
    gang = {**GANG, "PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.1:40001,10.0.0.1:40002"}
    job = submitted(entry="echo trained")
    assert run(job, "worker", folder, **gang).stdout == "trained\n"
    paddle(folder)
    refused = run(job, "worker", folder, **gang)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "-pservers 1" in refused.stderr


def test_a_topology_is_trained_by_paddle_itself(folder: Path) -> None:
    paddle(folder)
    ran = run(submitted(entry="", topology="conf.py", passes=3), "worker", folder, **GANG)
    words = ran.stdout.splitlines()
    assert words[0] == "train"
    assert {"--config=conf.py", "--num_passes=3", "--trainer_id=1", "--port=40001"} <= set(words)
    assert "--pservers=10.0.0.1,10.0.0.2" in words


def test_a_pserver_is_paddle_at_the_port_that_it_was_given(folder: Path) -> None:
    paddle(folder)
    ran = run(submitted(parallelism=2), "ps", folder, **GANG, PADDLE_PORT="40001")
    words = ran.stdout.splitlines()
    assert words[0] == "pserver"
    assert {"--port=40001", "--num_gradient_servers=2", "--use_gpu=0"} <= set(words)


def test_a_pserver_without_paddle_waits_for_the_end_of_the_trainers(folder: Path) -> None:
    job = submitted()
    assert shutil.which("paddle") is None
    argv = job.data["roles"]["ps"]["command"]
    with subprocess.Popen(argv, cwd=folder, env=job.data["env"], stdout=subprocess.PIPE, start_new_session=True) as ps:
        assert ps.stdout is not None
        assert b"no program paddle" in ps.stdout.readline()
        os.killpg(ps.pid, signal.SIGTERM)
        assert ps.wait(60) == 0
