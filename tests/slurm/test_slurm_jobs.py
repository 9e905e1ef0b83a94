"""Whole jobs on a real Slurm cluster: roles of different size, GPUs, MPI, packages and outputs."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_server import CLUSTER

pytestmark = pytest.mark.slurm
_PAIRS = 8
"""So many jobs of two tasks with a CPU each have all CPUs of the cluster."""
_ALLREDUCE = """
#include <mpi.h>
#include <stdio.h>
int main(int count, char **words) {
  int rank, size, sum;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d has the sum %d\\n", rank, size, sum);
  return MPI_Finalize();
}
"""
_HAS_MPI = "echo '#include <mpi.h>' | mpicc -fsyntax-only -x c -"
_MEETING = """
import os, socket, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    with socket.create_server(("", where[1])) as server:
        came = [server.accept()[0].makefile().readline().strip() for _ in range(size - 1)]
    print("met", *sorted(came), "at", where[0], "on", socket.gethostname())
else:
    give_up = time.monotonic() + 60
    while True:
        try:
            connection = socket.create_connection(where)
            break
        except ConnectionRefusedError:
            assert time.monotonic() < give_up, "nobody listens"
            time.sleep(0.1)
    connection.sendall(f"{rank}\\n".encode())
"""
"""All ranks but the first come to the address that they were given."""
_LISTENING = """
import os, pathlib, socket, time
own, folder = os.environ["PADDLE_CURRENT_ENDPOINT"], pathlib.Path("{folder}")
with socket.create_server(("", int(own.rpartition(":")[2]))):
    (folder / own).touch()
    give_up = time.monotonic() + 180
    while len(list(folder.iterdir())) < {tasks}:
        assert time.monotonic() < give_up, "not all tasks run at once"
        time.sleep(0.1)
"""


def test_roles_of_different_size_get_each_others_addresses_and_their_own_gpus(slurm_server: MusterServer) -> None:
    command = 'echo "$MUSTER_NODE $PADDLE_PSERVERS_IP_PORT_LIST $PADDLE_TRAINER_ENDPOINTS gpus:$CUDA_VISIBLE_DEVICES"'
    roles = {
        "ps": {"replicas": 2, "command": command, "resources": {"cpu": 1}},
        "worker": {"replicas": 2, "command": command, "resources": {"cpu": 1, "gpu": 1, "gpuType": "a100"}},
    }
    job = _succeeded(slurm_server, {"name": "wide", "framework": "paddle", "roles": roles})

    lines = _log(slurm_server, job).split("\n")
    words = [line.split() for line in lines if "gpus:" in line]
    assert len(words) == 4
    assert len({word[-2] for word in words}) == len({word[-3] for word in words}) == 1, "all see the same addresses"
    endpoints = [*words[0][-3].split(","), *words[0][-2].split(",")]
    assert len(endpoints) == 4
    assert all(host.startswith("n") and port.isdigit() for host, port in (end.split(":") for end in endpoints))
    workers = [word for word in words if word[-1] != "gpus:"]
    assert sorted(word[-1] for word in workers) in (["gpus:0", "gpus:1"], ["gpus:0", "gpus:0"])
    assert len({(word[-4], word[-1]) for word in workers}) == 2, "no two tasks share a GPU"


def test_a_package_is_the_working_directory_and_outputs_come_back(slurm_server: MusterServer, tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "train.sh").write_text("echo trained in $(cat data.txt) > model.txt\n")
    (source / "data.txt").write_text("peace\n")
    spec = tmp_path / "job.yaml"
    spec.write_text(f"name: packed\ncluster: {CLUSTER}\npackage: ./src\ncommand: sh train.sh\noutputs: [model.txt]\n")
    slurm_server.run("submit", str(spec), check=True)
    assert slurm_server.wait("packed")["state"] == "Succeeded"

    slurm_server.run("outputs", "packed", "--get", str(tmp_path / "out"), check=True)

    assert [path.read_text() for path in (tmp_path / "out").rglob("model.txt")] == ["trained in peace\n"]


def test_ranks_of_a_collective_job_meet_at_its_address(slurm_server: MusterServer) -> None:
    spec = {"name": "collective", "framework": "torch", "replicas": 3, "where": {"spread": "apart"}}
    job = _succeeded(slurm_server, {**spec, "command": ["python3", "-c", _MEETING], "resources": {"cpu": 1}})

    (met,) = [line.split() for line in _log(slurm_server, job).splitlines() if " met " in line]
    assert met[2:5] == ["met", "1", "2"]
    assert met[-3] == met[-1]


def test_mpi_computes_together_by_srun(slurm_server: MusterServer, allreduce: Path) -> None:
    spec = {"name": "together", "framework": "mpi", "replicas": 3, "where": {"spread": "apart"}}
    job = _succeeded(slurm_server, {**spec, "command": str(allreduce), "resources": {"cpu": 1}})

    log = _log(slurm_server, job)
    assert all(f"rank {rank} of 3 has the sum 3" in log for rank in range(3))


def test_mpirun_takes_the_host_file_of_tasks_that_share_a_node(slurm_server: MusterServer, allreduce: Path) -> None:
    mpirun = f"mpirun --allow-run-as-root --hostfile $MUSTER_TASK_DIR/$MUSTER_HOSTFILE {allreduce}"
    roles = {"launcher": {"command": mpirun, "minSucceeded": 1}, "worker": {"replicas": 2, "command": "sleep 600"}}
    spec = {"name": "shared", "framework": "mpi", "where": {"together": "node"}, "roles": roles}
    job = _succeeded(slurm_server, spec)

    log = _log(slurm_server, job)
    assert all(f"rank {rank} of 3 has the sum 3" in log for rank in range(3))


@pytest.mark.parametrize("ssh", [True, False])
def test_mpirun_starts_processes_on_all_nodes_by_the_host_file(
    slurm_server: MusterServer, allreduce: Path, ssh: bool
) -> None:
    """It reaches the tasks by ssh, if they have it, and otherwise their nodes by Slurm."""
    if ssh and shutil.which("sshd", path="/usr/sbin:/usr/bin") is None:
        pytest.skip("there is no sshd")
    mpirun = f"mpirun --allow-run-as-root --hostfile $MUSTER_TASK_DIR/$MUSTER_HOSTFILE {allreduce}"
    roles = {"launcher": {"command": mpirun, "minSucceeded": 1}, "worker": {"replicas": 2, "command": "sleep 600"}}
    spec = {"name": "launched", "framework": "mpi", "ssh": ssh, "where": {"spread": "apart"}, "roles": roles}
    job = _succeeded(slurm_server, spec)

    log = _log(slurm_server, job)
    assert all(f"rank {rank} of 3 has the sum 3" in log for rank in range(3))


def test_jobs_that_share_a_node_have_ports_of_their_own(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    """Each task listens at its own address until all others on all nodes do, which they fill."""
    listening = slurm.new_folder("listening")
    listening.mkdir(parents=True)
    command = ["python3", "-c", _LISTENING.format(folder=listening, tasks=2 * _PAIRS)]
    spec = {"framework": "paddle", "replicas": 2, "command": command, "resources": {"cpu": 1}}
    jobs = [slurm_server.submit({"cluster": CLUSTER, "name": f"p{n}", **spec})["id"] for n in range(_PAIRS)]

    for job in jobs:
        assert slurm_server.wait(job)["state"] == "Succeeded", _log(slurm_server, job)
    ends = [path.name for path in listening.iterdir()]
    assert len(ends) == 2 * _PAIRS, "no two have the same"
    assert len({end.partition(":")[0] for end in ends}) == len(slurm.nodes)


def test_command_that_is_not_there_says_so(slurm_server: MusterServer) -> None:
    spec = {"name": "missing", "cluster": CLUSTER, "command": ["/no/such/program"]}
    job = slurm_server.submit(spec)["id"]

    assert slurm_server.wait(job)["state"] == "Failed"
    assert "does not exist" in slurm_server.run("explain", job).stdout


@pytest.fixture
def allreduce(slurm: RealSlurm) -> Path:
    if subprocess.run(["sh", "-c", _HAS_MPI], check=False, capture_output=True).returncode:
        pytest.skip("there is no MPI compiler with its headers: run scripts/install-slurm.sh")
    source, program = slurm.folder / "allreduce.c", slurm.folder / "allreduce"
    source.write_text(_ALLREDUCE)
    subprocess.run(["mpicc", str(source), "-o", str(program)], check=True)
    return program


def _succeeded(server: MusterServer, spec: dict[str, Any]) -> str:
    job = str(server.submit({"cluster": CLUSTER, **spec})["id"])
    ended = server.wait(job)
    assert ended["state"] == "Succeeded", server.run("explain", job).stdout
    return job


def _log(server: MusterServer, job: str) -> str:
    return server.run("logs", job, check=True).stdout
