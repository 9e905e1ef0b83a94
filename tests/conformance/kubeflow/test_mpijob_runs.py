"""An MPIJob on a real server: mpirun starts its processes on the workers, by ssh between the tasks."""

import shutil
from pathlib import Path

import pytest

from tests.conformance.kubeflow.test_kubeflow_runs import named
from tests.conformance.kubeflow.test_kubeflow_tasks import job, replicas
from tests.conformance.running_jobs import ran
from tests.parts.server import MusterServer

SHOWS = 'cat "$OMPI_MCA_orte_default_hostfile"; mpirun -n 4 sh -c "echo rank \\$OMPI_COMM_WORLD_RANK"'


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed")
@pytest.mark.skipif(not Path("/usr/sbin/sshd").exists(), reason="OpenSSH's server is not installed")
def test_processes_of_an_mpi_job_run_on_its_workers(muster_server: MusterServer, tmp_path: Path) -> None:
    types = {"Launcher": replicas(1, ["sh", "-c", SHOWS]), "Worker": replicas(2, ["/usr/sbin/sshd", "-De"])}
    text = job("MPIJob", types, version="kubeflow.org/v2beta1", slotsPerWorker=2)
    done = ran(muster_server, named(text, "mpi-conformance"), tmp_path)

    assert (done.state, done.lines("rank")) == ("Succeeded", ["0", "1", "2", "3"])
    assert "worker-1 slots=2" in done.log
