"""MPIJobs, whose launcher finds its workers by a hostfile, and TrainJobs, most of which is in a runtime elsewhere."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.domain.errors import Invalid
from muster.wire.dialects.detecting import translate
from muster.wire.dialects.translation import Translation
from muster.wire.documents import read_document
from tests.conformance.kubeflow.test_kubeflow_tasks import job, replicas
from tests.conformance.started_tasks import HERE, Started, read, started

pytestmark = pytest.mark.fast


def translated(text: str) -> Translation:
    translation = translate(read_document(text))
    assert translation is not None
    return translation


def without_ssh(text: str, tmp_path: Path) -> dict[str, Started]:
    """The tasks of an MPI job, started without what makes ssh work between them."""
    data = translated(text).data
    assert data.pop("ssh") is True
    data["roles"]["worker"]["command"] = ["true"]
    return started(yaml.safe_dump({**data, "runtime": {}}), tmp_path, {})


@pytest.mark.parametrize("version", ["kubeflow.org/v1", "kubeflow.org/v2beta1"])
def test_launcher_finds_its_workers_in_the_hostfile(version: str, tmp_path: Path) -> None:
    command = ["sh", "-c", 'env; cat "$OMPI_MCA_orte_default_hostfile"']
    types = {"Launcher": replicas(1, command), "Worker": replicas(2, ["/usr/sbin/sshd", "-De"])}
    launcher = without_ssh(job("MPIJob", types, version=version, slotsPerWorker=4), tmp_path)["launcher-0"]

    assert launcher.output.splitlines()[-2:] == ["worker-0 slots=4", "worker-1 slots=4"]
    assert launcher.env["OMPI_MCA_orte_set_default_slots"] == "4"
    assert launcher.env["K_MPI_JOB_ROLE"] == "launcher"
    assert not [name for name in launcher.env if name.startswith("OMPI_COMM")]


def test_hostfile_of_a_launcher_without_a_container_of_its_own_is_in_the_folder_of_the_task(tmp_path: Path) -> None:
    types = {"Launcher": replicas(1, ["printenv", "OMPI_MCA_orte_default_hostfile"]), "Worker": replicas(1)}
    launcher = without_ssh(job("MPIJob", types), tmp_path)["launcher-0"]

    hostfile = Path(launcher.output.strip())
    assert hostfile.is_relative_to(tmp_path / "launcher-0")
    assert hostfile.parent.stat().st_mode & 0o777 == 0o700


def test_launcher_that_reads_the_hostfile_at_its_place_needs_a_container_of_its_own(tmp_path: Path) -> None:
    types = {"Launcher": replicas(1, ["cat", "/etc/mpi/hostfile"]), "Worker": replicas(1)}
    launcher = without_ssh(job("MPIJob", types), tmp_path)["launcher-0"]

    assert (launcher.code, launcher.output, "needs a container" in launcher.errors) == (1, "", True)


@pytest.mark.parametrize(
    ("implementation", "variable"), [("Intel", "I_MPI_HYDRA_HOST_FILE"), ("MPICH", "HYDRA_HOST_FILE")]
)
def test_other_implementations_read_a_hostfile_of_their_own_form(
    implementation: str, variable: str, tmp_path: Path
) -> None:
    types = {"Launcher": replicas(1, ["sh", "-c", f'cat "${variable}"']), "Worker": replicas(2)}
    text = job("MPIJob", types, version="kubeflow.org/v2beta1", mpiImplementation=implementation, slotsPerWorker=2)

    assert without_ssh(text, tmp_path)["launcher-0"].output == "worker-0:2\nworker-1:2\n"


def test_launcher_that_works_too_is_the_first_host(tmp_path: Path) -> None:
    types = {
        "Launcher": replicas(1, ["sh", "-c", 'cat "$OMPI_MCA_orte_default_hostfile"']),
        "Worker": replicas(1),
    }
    text = job("MPIJob", types, version="kubeflow.org/v2beta1", runLauncherAsWorker=True)

    assert without_ssh(text, tmp_path)["launcher-0"].output == "launcher-0 slots=1\nworker-0 slots=1\n"


@pytest.mark.parametrize(
    "command", [["/usr/sbin/sshd", "-De"], ["bash", "-c", "mkdir /run/sshd; /usr/sbin/sshd -D"], None]
)
def test_worker_waits_for_the_launcher_and_the_job_ends_with_that(command: list[str] | None) -> None:
    worker = replicas(2, container={"command": command})
    data = translated(job("MPIJob", {"Launcher": replicas(1, ["mpirun", "x"]), "Worker": worker})).data

    assert "sleep" in data["roles"]["worker"]["command"][2]
    assert "sshd" not in str(data["roles"]["worker"]["command"])
    assert data["roles"]["launcher"]["minSucceeded"] == 1
    assert data["ssh"] is True


def test_mpi_job_without_a_launcher_is_refused() -> None:
    assert any("Launcher" in str(one) for one in translated(job("MPIJob", {"Worker": replicas(1)})).problems)


def test_files_that_only_the_controller_writes_are_refused_by_name() -> None:
    launch = ["horovodrun", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "python", "x.py"]
    translation = translated(job("MPIJob", {"Launcher": replicas(1, launch), "Worker": replicas(1)}))

    assert ["discover_hosts.sh" in str(problem) for problem in translation.problems] == [True]


def train_job(trainer: dict[str, Any], runtime: str = "torch-distributed", **spec: Any) -> str:
    whole = {"runtimeRef": {"name": runtime}, "trainer": trainer, **spec}
    document = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "demo"}}
    return yaml.safe_dump({**document, "spec": whole}, sort_keys=False)


TRAINER = {"image": "repo/train:1", "command": ["env"], "numNodes": 2}


@pytest.mark.parametrize(
    ("more", "processes"),
    [
        ({}, "1"),
        ({"numProcPerNode": 3}, "3"),
        ({"resourcesPerNode": {"limits": {"cpu": "2500m"}}}, "3"),
        ({"resourcesPerNode": {"limits": {"nvidia.com/gpu": 2}}}, "auto"),
        ({"numProcPerNode": "cpu", "resourcesPerNode": {"requests": {"cpu": 2}}}, "2"),
    ],
)
def test_nodes_of_a_torch_runtime_find_the_variables_of_torchrun(
    tmp_path: Path, more: dict[str, Any], processes: str
) -> None:
    tasks = started(train_job({**TRAINER, **more}), tmp_path)

    env = tasks["node-1"].env
    assert (env["PET_NNODES"], env["PET_NODE_RANK"], env["PET_NPROC_PER_NODE"]) == ("2", "1", processes)
    assert env["PET_MASTER_ADDR"] == "10.0.0.1"


def test_nodes_of_a_jax_runtime_find_their_coordinator(tmp_path: Path) -> None:
    env = started(train_job(TRAINER, "jax-distributed"), tmp_path)["node-1"].env

    assert (env["JAX_NUM_PROCESSES"], env["JAX_PROCESS_ID"]) == ("2", "1")
    assert env["JAX_COORDINATOR_ADDRESS"].startswith("10.0.0.1:")


def test_train_job_that_is_suspended_is_held() -> None:
    assert read(train_job(TRAINER, suspend=True)).spec.held


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (train_job(TRAINER, "my-runtime"), "is not in the file"),
        (train_job(TRAINER, initializer={"dataset": {}}), "prepares no data sets"),
        (train_job(TRAINER, podTemplateOverrides=[{}]), "which is not in the file"),
    ],
)
def test_what_only_the_runtime_knows_is_refused(text: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(text)
    assert any(words in str(problem) for problem in refused.value.problems)


def test_image_of_the_runtime_has_to_be_named() -> None:
    text = train_job({"command": ["env"]})
    with pytest.raises(Invalid):
        read(text, {})
    assert read(text, HERE).spec.runtime.image is None
