"""The file of a cluster is changed while its jobs run: nothing runs twice."""

from typing import Any

import pytest

from tests.parts.server import MusterServer, polls
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_jobs import NotingJob, submit_noting
from tests.parts.slurm_server import CLUSTER, await_slurm, write_slurm_cluster

pytestmark = pytest.mark.slurm


@pytest.mark.parametrize("changed", ["sharedFolder", "conf"])
def test_job_runs_on_when_its_cluster_is_to_be_somewhere_else(
    own_slurm_server: MusterServer, slurm: RealSlurm, changed: str
) -> None:
    job = submit_noting(own_slurm_server, slurm)
    job.await_running()
    (own_slurm_server.home.parent / "other.conf").write_text(slurm.conf.read_text())

    write_slurm_cluster(own_slurm_server.home, slurm, **_changed(own_slurm_server, changed))
    _await_note(own_slurm_server, f"{changed} is changed when its last job has ended")
    later = submit_noting(own_slurm_server, slurm, "later")
    job.let_go()

    assert own_slurm_server.wait(job.id)["state"] == "Succeeded"
    assert job.starts == {"0": 1}
    later.await_running()
    later.let_go()
    assert own_slurm_server.wait(later.id)["state"] == "Succeeded"
    assert (later.starts, _attempts(slurm, later)) == ({"0": 1}, 1)
    if changed == "sharedFolder":
        assert list((own_slurm_server.home.parent / "other").iterdir()), "the change has not been made"


def test_change_that_is_taken_back_holds_nothing_up(own_slurm_server: MusterServer, slurm: RealSlurm) -> None:
    job = submit_noting(own_slurm_server, slurm)
    job.await_running()
    write_slurm_cluster(own_slurm_server.home, slurm, **_changed(own_slurm_server, "sharedFolder"))
    _await_note(own_slurm_server, "sharedFolder is changed")

    write_slurm_cluster(own_slurm_server.home, slurm)
    _await_note(own_slurm_server, "")
    later = submit_noting(own_slurm_server, slurm, "later")
    later.await_running()

    for one in (job, later):
        one.let_go()
        assert own_slurm_server.wait(one.id)["state"] == "Succeeded"
        assert one.starts == {"0": 1}


def test_attempts_do_not_overlap_if_the_file_is_changed_while_no_server_runs(
    own_slurm_server: MusterServer, slurm: RealSlurm
) -> None:
    job = submit_noting(own_slurm_server, slurm)
    job.await_running()
    first = job.slurm_job

    own_slurm_server.kill()
    write_slurm_cluster(own_slurm_server.home, slurm, **_changed(own_slurm_server, "sharedFolder"))
    own_slurm_server.start()
    await_slurm(own_slurm_server)
    job.await_running(times=2)

    assert slurm.job_state(first) in ("CANCELLED", ""), "both attempts run"
    job.let_go()
    assert own_slurm_server.wait(job.id)["state"] == "Succeeded"
    assert job.starts == {"0": 2}


def _changed(server: MusterServer, key: str) -> dict[str, Any]:
    return {key: str(server.home.parent / ("other" if key == "sharedFolder" else "other.conf"))}


def _await_note(server: MusterServer, words: str) -> None:
    """Until the cluster has a note with these words, or none."""
    found: Any = None
    for _ in polls(60):
        (found,) = [one for one in server.json("get", "clusters")["items"] if one["name"] == CLUSTER]
        if (words in str(found["notes"])) if words else not found["notes"]:
            return
    raise AssertionError(f"nobody says {words!r}: {found}")


def _attempts(slurm: RealSlurm, job: NotingJob) -> int:
    rows = slurm.run("squeue", "--noheader", "--states=all", "--format=%A %j").splitlines()
    return sum(job.id in row for row in rows)
