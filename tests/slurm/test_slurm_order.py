"""With `order: slurm`, every job is in Slurm's queue at once, and Slurm decides which is next."""

from pathlib import Path

import pytest

from tests.parts.server import polls
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_server import CLUSTER, serving_slurm

pytestmark = pytest.mark.slurm
_NAMES = [f"job-{number}" for number in range(1, 7)]


def test_jobs_start_in_slurms_order(slurm: RealSlurm, tmp_path: Path) -> None:
    """One after the other, as there is one node for them."""
    slurm.fill()
    begun = slurm.new_folder("begun")
    spec = {"cluster": CLUSTER, "command": f"echo $MUSTER_JOB_NAME >> {begun}", "resources": {"cpu": 4}}
    with serving_slurm(tmp_path / "home", slurm, order="slurm", options=["--nodelist=n1"]) as server:
        jobs = {name: server.submit({"name": name, **spec})["id"] for name in _NAMES}
        numbers = _await_queued(slurm, jobs)
        first, *others, last = sorted(_NAMES, key=lambda name: numbers[name])

        slurm.run("scontrol", "top", str(numbers[last]))
        slurm.run("scontrol", "update", f"jobid={numbers[first]}", "nice=1000")
        slurm.free()

        for job in jobs.values():
            assert server.wait(job)["state"] == "Succeeded", server.run("explain", job).stdout
    assert begun.read_text().split() == [last, *others, first]


def _await_queued(slurm: RealSlurm, jobs: dict[str, str]) -> dict[str, int]:
    """Until all wait in Slurm. Their numbers there, by their names."""
    rows: list[list[str]] = []
    for _ in polls(60):
        rows = [line.split() for line in slurm.run("squeue", "--noheader", "--format=%A %T %j").splitlines()]
        found = {
            name: int(row[0]) for name, job in jobs.items() for row in rows if job in row[2] and row[1] == "PENDING"
        }
        if found.keys() == jobs.keys():
            return found
    raise AssertionError(f"not all of {jobs} wait in Slurm: {rows}")
