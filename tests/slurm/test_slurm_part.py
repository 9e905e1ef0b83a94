"""The real Slurm cluster that the other tests of this folder rely on does what they presume."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parts.server import polls
from tests.parts.slurm import OTHER_PERSON, RealSlurm, SlurmOptions
from tests.parts.slurm_settings import URGENT_PARTITION
from tests.parts.slurm_settling import settle

pytestmark = pytest.mark.slurm

_CLUSTER_UNTIL_KILLED = """
import sys
from pathlib import Path
from tests.parts.slurm import RealSlurm
with RealSlurm(Path(sys.argv[1])) as slurm:
    slurm.submit("setsid sleep 98765 & sleep 98765", "--nodes=1")
    while "sleep" not in slurm.run("pgrep", "--list-name", "--full", "^sleep 98765", check=False):
        pass
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_step_runs_on_two_nodes_with_names_of_their_own(slurm: RealSlurm) -> None:
    said = slurm.run("srun", "--nodes=2", "--label", "hostname").splitlines()

    assert sorted(said) == ["0: n1", "1: n2"]


def test_gpus_are_handed_out_by_type(slurm: RealSlurm) -> None:
    show = "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"

    assert slurm.run("srun", "--gpus-per-node=v100:3", "sh", "-c", show) == "n3 0,1,2\n"


def test_two_jobs_on_a_node_get_different_gpus(slurm: RealSlurm) -> None:
    first = slurm.submit("sleep 1000", "--nodelist=n1", "--gpus-per-node=1")
    slurm.wait_for_job(first, "RUNNING")

    said = slurm.run("srun", "--nodelist=n1", "--gpus-per-node=1", "sh", "-c", "echo $SLURM_STEP_GPUS")

    assert said == "1\n"


def test_heterogeneous_job_runs_its_groups_at_once(slurm: RealSlurm) -> None:
    show = "echo $SLURM_PROCID of $SLURM_HET_SIZE groups"
    said = slurm.run("srun", "--ntasks=1", "--nodes=1", ":", "--ntasks=2", "--nodes=1", "sh", "-c", show)

    assert sorted(said.splitlines()) == [f"{task} of 2 groups" for task in range(3)]


def test_nodes_reach_each_other_by_name(slurm: RealSlurm) -> None:
    assert slurm.run("srun", "--nodelist=n1", "getent", "hosts", "n4").split() == [slurm.node_address("n4"), "n4"]


def test_killed_controller_keeps_its_jobs(slurm: RealSlurm) -> None:
    job = slurm.submit("sleep 1000", "--nodes=2")
    slurm.wait_for_job(job, "RUNNING")
    slurm.wait_until_saved(job)

    slurm.kill_controller()
    slurm.start_controller()

    assert slurm.wait_for_job(job, "RUNNING")


def test_settled_cluster_is_empty_whatever_a_killed_controller_believes(slurm: RealSlurm) -> None:
    job = slurm.submit("sleep 1000", "--nodelist=n1")
    slurm.wait_for_job(job, "RUNNING")
    slurm.wait_until_saved(job)
    slurm.run("scancel", job)
    slurm.wait_until_empty()
    slurm.kill_controller()
    slurm.start_controller()
    slurm.submit("sleep 1000", as_user=OTHER_PERSON)
    slurm.set_node("n2", "down")
    slurm.set_node("n3", "drain")

    settle(slurm)

    assert not slurm.run("squeue", "--noheader")
    assert set(slurm.run("sinfo", "--noheader", "--Node", "--format=%t").split()) == {"idle"}


def test_killed_node_daemon_leaves_its_tasks_running(slurm: RealSlurm, tmp_path: Path) -> None:
    job = slurm.submit(f"while [ ! -e {tmp_path}/go ]; do sleep 0.1; done; touch {tmp_path}/done", "--nodelist=n2")
    slurm.wait_for_job(job, "RUNNING")

    slurm.kill_node_daemon("n2")
    (tmp_path / "go").touch()
    for _ in polls(60):
        if (tmp_path / "done").exists():
            break
    slurm.start_node("n2")

    assert slurm.wait_for_job(job, "COMPLETING", "COMPLETED")  # the controller tells the daemon only minutes later


def test_crashed_node_ends_its_jobs(slurm_folder: Path) -> None:
    with RealSlurm(slurm_folder, SlurmOptions(node_timeout_s=10)) as slurm:
        job = slurm.submit("sleep 1000", "--nodelist=n3", "--no-requeue")
        slurm.wait_for_job(job, "RUNNING")
        slurm.crash_node("n3")

        assert slurm.wait_for_job(job, "NODE_FAIL")
        slurm.boot_node("n3")
        slurm.wait_for_nodes("idle", "n3")


def test_node_set_down_ends_its_jobs_and_resumes(slurm: RealSlurm) -> None:
    job = slurm.submit("sleep 1000", "--nodelist=n4", "--no-requeue")
    slurm.wait_for_job(job, "RUNNING")

    slurm.set_node("n4", "down")
    slurm.wait_for_job(job, "NODE_FAIL")
    slurm.set_node("n4", "resume")

    slurm.wait_for_nodes("idle", "n4")


def test_other_person_fills_the_cluster_until_freed(slurm: RealSlurm) -> None:
    other = slurm.fill()
    waiting = slurm.submit("true")

    assert slurm.run("squeue", "--noheader", f"--jobs={other}", "--format=%u").strip() == OTHER_PERSON
    assert slurm.job_state(waiting) == "PENDING"
    slurm.free()
    assert slurm.wait_for_job(waiting, "COMPLETED")


def test_urgent_job_sends_another_back_to_the_queue(slurm: RealSlurm) -> None:
    victim = slurm.submit("sleep 1000", "--exclusive", "--nodes=4")
    slurm.wait_for_job(victim, "RUNNING")

    urgent = slurm.submit("sleep 1000", "--nodes=1", f"--partition={URGENT_PARTITION}")

    slurm.wait_for_job(urgent, "RUNNING")
    assert slurm.wait_for_job(victim, "PENDING")


def test_job_that_uses_too_much_memory_is_killed(strict_slurm: RealSlurm, tmp_path: Path) -> None:
    """Without control groups, Slurm says why only in the job's own output."""
    greedy = "python3 -c 'import time; x = bytearray(2**28); time.sleep(1000)'"
    job = strict_slurm.submit(greedy, "--mem=50", f"--error={tmp_path}/errors")
    strict_slurm.wait_for_job(job, "FAILED")

    assert "exceeded memory limit" in (tmp_path / "errors").read_text()


def test_accounting_remembers_ended_jobs(accounting_folder: Path) -> None:
    with RealSlurm(accounting_folder, SlurmOptions(accounting=True)) as slurm:
        job = slurm.submit("exit 3", "--comment=a comment")
        for _ in polls(60):
            said = slurm.run("sacct", "--jobs", job, "--allocations", "--parsable2", "--noheader", "-oState,ExitCode")
            if said.startswith("FAILED"):
                break

        assert said == "FAILED|3:0\n"


def test_clusters_run_beside_each_other(slurm: RealSlurm, tmp_path_factory: pytest.TempPathFactory) -> None:
    with RealSlurm(tmp_path_factory.mktemp("second", numbered=False)) as second:
        job = second.submit("sleep 1000", "--job-name=of-the-second")
        second.wait_for_job(job, "RUNNING")

        assert "of-the-second" not in slurm.run("squeue", "--states=all", "--format=%j")
        assert second.node_address("n1") != slurm.node_address("n1")


def test_killed_test_run_leaves_no_process_behind(slurm_folder: Path) -> None:
    script = [sys.executable, "-c", _CLUSTER_UNTIL_KILLED, str(slurm_folder)]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        assert _processes_of(slurm_folder)

        os.kill(run.pid, signal.SIGKILL)

    for _ in polls(60):
        if not _processes_of(slurm_folder):
            return
    raise AssertionError(_processes_of(slurm_folder))


def _processes_of(folder: Path) -> list[str]:
    """Those that belong to its cluster: daemons by their arguments, tasks by their variables."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                content = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"{folder}/".encode() in content:
                found.append(entry.name)
    return found
