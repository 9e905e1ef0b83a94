"""Files of other systems, whose jobs run with the account of a plain user: they may not write to the task's folder."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from tests.conformance.kubeflow.test_kubeflow_tasks import job, replicas
from tests.conformance.running import written
from tests.parts.local_cluster import configure_local
from tests.parts.server import MusterServer, running_server
from tests.security.isolation.conftest import Ended, Person, people


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("plain") / "home") as started:
        yield started


@pytest.fixture(scope="module")
def bob(server: MusterServer) -> Person:
    return people(server, "bob")[0]


@pytest.fixture(params=["user", "namespace"])
def mode(request: pytest.FixtureRequest, server: MusterServer) -> str:
    configure_local(server, request.param)
    return str(request.param)


def ran(person: Person, file: Path, task: str = "worker-0", **more: object) -> Ended:
    shown = person.server.run("import", str(file), "-o", "yaml", cwd=file.parent, check=True)
    spec = {**yaml.safe_load(shown.stdout), **more}
    spec.pop("package", None)
    status, made = person.server.call("POST", "/api/v1/jobs", {"spec": spec}, token=person.token)
    assert status == 201, made
    state = person.server.wait(made["id"])["state"]
    _, log = person.server.call("GET", f"/api/v1/jobs/{made['id']}/logs/raw?task={task}", token=person.token)
    return Ended(state, str(log or ""), made["id"])


def collected(person: Person, job_id: str) -> Sequence[str]:
    _, page = person.server.call("GET", f"/api/v1/jobs/{job_id}/outputs", token=person.token)
    return [file["path"] for file in page["items"]]


def test_a_batch_script_starts_its_steps(bob: Person, mode: str, tmp_path: Path) -> None:
    lines = ["#!/bin/bash", "#SBATCH -n 2", "srun sh -c 'echo step $SLURM_PROCID'", "echo done > result.txt"]
    ended = ran(bob, written(tmp_path, "steps.sbatch", lines), outputs=["**"])

    assert (ended.state, sorted(ended.log.splitlines())) == ("Succeeded", ["step 0", "step 1"]), ended.log
    assert not [path for path in collected(bob, ended.job_id) if "result.txt" not in path]


def test_nodes_of_a_dstack_task_have_their_hostfile(bob: Person, mode: str, tmp_path: Path) -> None:
    lines = ["type: task", "name: nodes", "nodes: 2", "resources: {cpu: 0.25..}", "commands:"]
    lines += ['  - wc -l <"$DSTACK_MPI_HOSTFILE"', '  - stat -c %a "$(dirname "$DSTACK_MPI_HOSTFILE")"']
    ended = ran(bob, written(tmp_path, "task.dstack.yml", lines), where={"spread": "pack"})

    assert (ended.state, ended.log.split()) == ("Succeeded", ["2", "700"]), ended.log


@pytest.mark.skipif(not Path("/usr/sbin/sshd").exists(), reason="OpenSSH's server is not installed")
def test_the_launcher_of_an_mpi_job_has_its_hostfile(bob: Person, mode: str, tmp_path: Path) -> None:
    shows = replicas(1, ["sh", "-c", 'cat "$OMPI_MCA_orte_default_hostfile"'])
    types = {"Launcher": shows, "Worker": replicas(2, ["/usr/sbin/sshd", "-De"])}
    text = job("MPIJob", types, version="kubeflow.org/v2beta1", slotsPerWorker=2)
    ended = ran(bob, written(tmp_path, "mpi.yaml", text), "launcher-0", runtime={})

    assert (ended.state, ended.log.splitlines()) == ("Succeeded", ["worker-0 slots=2", "worker-1 slots=2"])
