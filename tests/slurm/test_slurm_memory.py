"""Each task has the memory that its role asks for, whatever the others ask for and the partition prescribes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_jobs import NotingJob, noting_job
from tests.parts.slurm_server import serving_slurm

pytestmark = pytest.mark.slurm
_PARTITION = "prescribing"
Serve = Callable[..., AbstractContextManager[MusterServer]]


@pytest.mark.parametrize(
    ("first", "second", "memory"),
    [
        ({"cpu": 1, "memory": "2000Mi"}, {"cpu": 2, "memory": "500Mi"}, {"cpu=1": 2000, "cpu=2": 500}),
        ({"cpu": 2, "memory": "500Mi"}, {"cpu": 1, "memory": "2000Mi"}, {"cpu=1": 2000, "cpu=2": 500}),
    ],
    ids=["more first", "less first"],
)
def test_roles_with_different_memory_per_cpu_each_have_their_own(
    slurm_server: MusterServer, slurm: RealSlurm, first: dict[str, Any], second: dict[str, Any], memory: dict[str, int]
) -> None:
    assert _memory_of_steps(slurm_server, slurm, first, second) == memory


@pytest.mark.parametrize("is_first", [True, False])
def test_role_without_memory_has_what_the_partition_gives_a_job(
    prescribing: Serve, slurm: RealSlurm, is_first: bool
) -> None:
    """Slurm tells the memory of one component by CPU then, and that of the other by node."""
    roles = [{"cpu": 2}, {"cpu": 1, "memory": "2000Mi"}]
    with prescribing(DefMemPerNode=1000) as server:
        found = _memory_of_steps(server, slurm, *(roles if is_first else reversed(roles)))
    assert found == {"cpu=1": 2000, "cpu=2": 1000}


def test_task_has_all_its_memory_where_slurm_spreads_it_over_more_cpus(prescribing: Serve, slurm: RealSlurm) -> None:
    with prescribing(MaxMemPerCPU=1000) as server:
        assert _memory_of_steps(server, slurm, {"cpu": 1, "memory": "2000Mi"}) == {"cpu=1": 2000}


@pytest.fixture
def prescribing(slurm: RealSlurm, tmp_path: Path) -> Iterator[Serve]:
    """Serves a partition with these settings."""
    with ExitStack() as stack:

        @contextmanager
        def serve(**settings: int) -> Iterator[MusterServer]:
            words = [f"{name}={value}" for name, value in settings.items()]
            slurm.run("scontrol", "create", f"partitionname={_PARTITION}", "nodes=ALL", *words)
            stack.callback(slurm.run, "scontrol", "delete", f"partitionname={_PARTITION}")
            with serving_slurm(tmp_path / "home", slurm, partition=_PARTITION) as server:
                yield server
            slurm.wait_until_empty()

        yield serve


def _memory_of_steps(server: MusterServer, slurm: RealSlurm, *roles: dict[str, Any]) -> dict[str, int]:
    """What the steps of a job hold whose roles ask for this, by their CPUs: MiB."""
    spec, folder = noting_job(slurm)
    command, _ = spec.pop("command"), spec.pop("resources")
    spec["roles"] = {f"part{n}": {"command": command, "resources": asked} for n, asked in enumerate(roles)}
    job = NotingJob(server, slurm, server.submit(spec)["id"], folder)
    job.await_running(tasks=len(roles))
    shown = slurm.run("scontrol", "--oneliner", "show", "step").splitlines()
    held = [line.partition("TRES=")[2].split()[0] for line in shown if "TRES=cpu" in line]
    job.let_go()
    assert server.wait(job.id)["state"] == "Succeeded"
    return {cpus: int(memory.removeprefix("mem=").removesuffix("M")) for cpus, memory, _ in map(_parts, held)}


def _parts(held: str) -> list[str]:
    """`cpu=1,mem=2000M,node=1`."""
    return held.split(",")
