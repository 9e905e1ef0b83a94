"""Jobs of other systems on two machines with GPUs that are reached by SSH."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.running import run_file, written
from tests.parts.hosts import HostOptions, HostPool, hosts_unavailable
from tests.parts.server import MusterServer
from tests.parts.ssh_cluster import CLUSTER, serving

pytestmark = pytest.mark.skipif(hosts_unavailable() is not None, reason=hosts_unavailable() or "")


@pytest.fixture(scope="module")
def pool_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    options = [HostOptions(fake_gpus="2xA100")] * 2
    with HostPool(options) as pool, serving(tmp_path_factory.mktemp("pool") / "home", pool) as server:
        server.run("secret", "set", "srun-key", input=secrets.token_hex(32), check=True)
        yield server


def test_batch_script_starts_its_tasks_on_both_machines(pool_server: MusterServer, tmp_path: Path) -> None:
    """The idiom with which scripts find the address of the first node, and tasks that see a GPU each."""
    written(
        tmp_path, "task.sh", 'echo "$SLURM_PROCID $SLURM_NODEID $SLURM_LOCALID $CUDA_VISIBLE_DEVICES $(hostname)"\n'
    )
    script = [
        "#!/bin/bash -l",
        "#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-task=1 --cpus-per-task=1",
        f"#SBATCH --partition={CLUSTER}",
        "nodes=($(scontrol show hostnames $SLURM_JOB_NODELIST))",
        'first=$(srun --nodes=1 --ntasks=1 -w "${nodes[0]}" hostname)',
        'echo "first $first is $(hostname)"',
        "srun bash task.sh",
        "srun --ntasks=2 --ntasks-per-node=1 --gpus-per-task=2 bash -c 'echo both $CUDA_VISIBLE_DEVICES'",
    ]

    ran = run_file(pool_server, written(tmp_path, "nodes.sbatch", script))

    assert ran.state == "Succeeded", ran.log
    said = ran.of("worker-0")
    first, own = said[0].removeprefix("first ").split(" is ")
    assert first == own
    tasks = sorted(line.split() for line in said[1:5])
    assert [task[:3] for task in tasks] == [["0", "0", "0"], ["1", "0", "1"], ["2", "1", "0"], ["3", "1", "1"]]
    assert [task[3] for task in tasks] == ["0", "1", "0", "1"], "each task sees its own GPU"
    assert len({task[4] for task in tasks}) == 2, "on two machines"
    assert said[5:] == ["both 0,1", "both 0,1"]


def test_sky_task_runs_on_each_machine(pool_server: MusterServer, tmp_path: Path) -> None:
    task = [
        "name: sky-pool",
        "num_nodes: 2",
        "resources: {accelerators: A100:2}",
        'run: echo "$SKYPILOT_NODE_RANK $SKYPILOT_NUM_GPUS_PER_NODE $(echo "$SKYPILOT_NODE_IPS" | sort -u | wc -l)"',
    ]

    ran = run_file(pool_server, written(tmp_path, "task.yaml", task), "--cluster", CLUSTER)

    assert ran.state == "Succeeded", ran.log
    assert (ran.of("worker-0"), ran.of("worker-1")) == (["0 2 2"], ["1 2 2"])


def test_dstack_task_runs_on_each_machine(pool_server: MusterServer, tmp_path: Path) -> None:
    task = [
        "type: task",
        "name: dstack-pool",
        "nodes: 2",
        "resources: {gpu: 'A100:2'}",
        'commands: [\'echo "$DSTACK_NODE_RANK $DSTACK_GPUS_NUM $(sort -u "$DSTACK_MPI_HOSTFILE" | wc -l)"\']',
    ]

    ran = run_file(pool_server, written(tmp_path, "task.dstack.yml", task), "--cluster", CLUSTER)

    assert ran.state == "Succeeded", ran.log
    assert (ran.of("worker-0"), ran.of("worker-1")) == (["0 4 2"], ["1 4 2"])
