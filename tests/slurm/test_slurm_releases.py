"""How Slurm is asked depends on its release. The Slurm of this machine stands in for others: only `sbatch --version`
says something else."""

from pathlib import Path

import pytest

from tests.parts.slurm import OTHER_PERSON, RealSlurm
from tests.parts.slurm_commands import OtherRelease
from tests.parts.slurm_jobs import submit_noting
from tests.parts.slurm_server import serving_slurm

pytestmark = pytest.mark.slurm


@pytest.mark.parametrize(("version", "form"), [("22.05.8", "text"), ("24.05.2", "json")])
def test_job_runs_to_its_end_whichever_form_squeue_is_asked_for(
    slurm_folder: Path, tmp_path: Path, version: str, form: str
) -> None:
    """In a cluster that had no other jobs: this release lists them, too, when it is asked for JSON."""
    release = OtherRelease(tmp_path / "commands", version)
    with (
        RealSlurm(slurm_folder) as slurm,
        serving_slurm(tmp_path / "home", slurm, commands=str(release.folder)) as server,
    ):
        job = submit_noting(server, slurm, replicas=3)
        job.await_running(tasks=3)
        job.let_go()

        assert server.wait(job.id)["state"] == "Succeeded"
        assert release.forms
        assert set(release.forms) == {form}


def test_tables_are_asked_for_where_json_lists_jobs_that_nobody_asked_for(slurm: RealSlurm, tmp_path: Path) -> None:
    """As this release does, which stands in for one that should not."""
    release = OtherRelease(slurm.new_folder("commands"), "23.11.4")
    other = slurm.submit("sleep 1000", "--nodelist=n1", as_user=OTHER_PERSON)
    slurm.wait_for_job(other, "RUNNING")
    with serving_slurm(tmp_path / "home", slurm, commands=str(release.folder)) as server:
        first = submit_noting(server, slurm, "first")
        first.await_running()
        first.let_go()
        assert server.wait(first.id)["state"] == "Succeeded"
        second = submit_noting(server, slurm, "second")
        second.await_running()
        slurm.run("scancel", second.slurm_job)

        assert server.wait(second.id)["state"] == "Cancelled"
        assert release.forms[0] == "json"
        assert set(release.forms[1:]) == {"text"}
        log = (server.home / "server.log").read_text()
        assert log.count("its JSON cannot be used") == 1
