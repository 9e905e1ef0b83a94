"""Limits of Slurm's accounting that allow a user only so many jobs at a time."""

from collections.abc import Iterator

import pytest

from tests.parts.server import MusterServer, polls
from tests.parts.slurm import RealSlurm, SlurmOptions
from tests.parts.slurm_accounting import accounting_unavailable
from tests.parts.slurm_jobs import NotingJob, submit_noting
from tests.parts.slurm_sharing import SharedSlurm, mend_cluster

pytestmark = pytest.mark.slurm
_ENFORCED = SlurmOptions(accounting=True, extra="AccountingStorageEnforce=associations,limits,qos")


@pytest.fixture
def limited(shared_slurm: SharedSlurm) -> Iterator[RealSlurm]:
    """Whoever runs the tests may have one job there, whether it runs or waits."""
    if missing := accounting_unavailable():
        pytest.skip(missing)
    slurm = shared_slurm.cluster(_ENFORCED)
    slurm.run("sacctmgr", "--immediate", "modify", "user", "root", "set", "MaxSubmitJobs=1")
    yield slurm
    mend_cluster(slurm)


@pytest.fixture
def server(shared_slurm: SharedSlurm, limited: RealSlurm) -> Iterator[MusterServer]:
    server = shared_slurm.server(limited, "shared")
    yield server
    shared_slurm.mend_server(server, limited)


def test_job_that_slurm_does_not_take_yet_waits_and_says_why(server: MusterServer, limited: RealSlurm) -> None:
    first = submit_noting(server, limited, "first")
    first.await_running()
    second = submit_noting(server, limited, "second")
    _await_explained(server, second, "AssocMaxSubmitJobLimit")

    assert "AssocMaxSubmitJobLimit" in server.run("get", "jobs").stdout

    server.kill()
    server.start()
    _await_explained(server, second, "AssocMaxSubmitJobLimit")
    first.let_go()

    assert server.wait(first.id)["state"] == "Succeeded"
    second.await_running()
    second.let_go()
    assert server.wait(second.id)["state"] == "Succeeded"
    assert second.starts == {"0": 1}


def test_job_that_slurm_has_not_taken_can_be_killed(server: MusterServer, limited: RealSlurm) -> None:
    first = submit_noting(server, limited, "first")
    first.await_running()
    second = submit_noting(server, limited, "second")
    _await_explained(server, second, "AssocMaxSubmitJobLimit")

    server.run("kill", second.id, check=True)

    assert server.wait(second.id)["state"] == "Cancelled"
    assert second.starts == {}


def _await_explained(server: MusterServer, job: NotingJob, words: str) -> None:
    said = ""
    for _ in polls(60):
        said = server.run("explain", job.id).stdout
        if words in said:
            return
    raise AssertionError(said)
