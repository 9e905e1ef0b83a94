"""Secrets of tasks on a real Slurm cluster: Slurm never has them, and nothing of them is left when a job has ended."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from muster.agent.batch.coordinator import unpacked
from tests.parts.server import MusterServer, polls
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_jobs import NotingJob, submit_noting
from tests.parts.slurm_server import CLUSTER

pytestmark = pytest.mark.slurm
VALUE = "hunter2-of-the-cluster"
_USES = [{"name": "key", "env": "KEY"}, {"name": "key", "file": "key.txt"}]
_PRINTING = """
[ "$KEY" = "$(cat $MUSTER_SECRETS/key.txt)" ] && echo both are $KEY
"""
_SCRIPT = """#!/bin/bash
#SBATCH --job-name=several
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
srun -l sh -c 'echo task $SLURM_PROCID of $SLURM_NTASKS' | sort
"""


def test_task_gets_its_secrets_and_its_log_does_not_show_them(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    _put(slurm_server)
    spec = {"name": "printing", "cluster": CLUSTER, "command": _PRINTING, "secrets": _USES}
    job = slurm_server.submit(spec)

    assert slurm_server.wait(job["id"])["state"] == "Succeeded", slurm_server.run("logs", job["id"]).stdout
    assert slurm_server.run("logs", job["id"], check=True).stdout.strip() == f"both are {'*' * len(VALUE)}"
    assert _files_with(slurm, VALUE) == []


def test_value_is_readable_by_the_account_of_the_tasks_only(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    job = _running(slurm_server, slurm)

    files = _files_with(slurm, VALUE)
    assert files, "the task reads a file"
    assert all(_mode(path) & 0o077 == 0 for path in files)
    assert VALUE not in slurm.run("scontrol", "write", "batch_script", job.slurm_job, "-")
    assert [path for path in Path("/proc").glob("[0-9]*/cmdline") if _has(path, VALUE)] == []
    job.let_go()
    slurm_server.wait(job.id)
    assert _files_with(slurm, VALUE) == []


def test_secrets_of_a_job_that_is_cancelled_in_slurm_are_removed(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    _put(slurm_server)
    slurm.fill()
    job = submit_noting(slurm_server, slurm, secrets=_USES)
    job.await_waiting("Resources")

    slurm.run("scancel", job.slurm_job)

    assert slurm_server.wait(job.id)["state"] == "Cancelled"
    _await_no_file(slurm)


def test_secrets_of_a_task_whose_node_is_down_are_removed(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    job = _running(slurm_server, slurm)
    before = _files_with(slurm, VALUE)

    slurm.set_node(job.node, "down")
    job.await_running(times=2)

    for _ in polls(60):
        if not any(_has(path, VALUE) for path in before):
            return
    raise AssertionError(f"the value is still in some of {before}")


def test_task_without_a_shared_folder_gets_its_secrets_over_the_sealed_connection(
    unshared_server: MusterServer, slurm: RealSlurm
) -> None:
    _put(unshared_server)
    spec = {"name": "printing", "cluster": CLUSTER, "command": _PRINTING, "secrets": _USES, "replicas": 2}
    job = unshared_server.submit(spec)

    assert unshared_server.wait(job["id"])["state"] == "Succeeded", unshared_server.run("logs", job["id"]).stdout
    log = unshared_server.run("logs", job["id"], check=True).stdout
    assert log.count(f"both are {'*' * len(VALUE)}") == 2, log
    assert VALUE not in log
    assert _found_below(VALUE, slurm.folder, unshared_server.home / "slurm") == []


def test_value_is_in_no_batch_script_without_a_shared_folder(unshared_server: MusterServer, slurm: RealSlurm) -> None:
    job = _running(unshared_server, slurm)

    script = slurm.run("scontrol", "write", "batch_script", job.slurm_job, "-")
    order = unpacked(script.split("<<'MUSTER_ORDER'")[1].split("MUSTER_ORDER")[0])

    assert order is not None
    assert VALUE not in script + str(order)
    job.let_go()
    unshared_server.wait(job.id)


def test_batch_script_for_several_nodes_runs(slurm_server: MusterServer, tmp_path: Path) -> None:
    script = tmp_path / "several.sbatch"
    script.write_text(_SCRIPT)
    slurm_server.run("secret", "set", "srun-key", input="0123456789abcdef" * 4, check=True)
    slurm_server.run("submit", "--cluster", CLUSTER, str(script), cwd=tmp_path, check=True)

    assert slurm_server.wait("several")["state"] == "Succeeded", slurm_server.run("logs", "several").stdout
    log = slurm_server.run("logs", "several", check=True).stdout
    assert [line for line in log.splitlines() if "task" in line] == [f"worker-0 | {n}: task {n} of 2" for n in (0, 1)]


def test_tasks_without_a_shared_folder_reach_each_other_over_ssh(unshared_server: MusterServer) -> None:
    _reach_each_other(unshared_server)


def test_tasks_reach_each_other_over_ssh(slurm_server: MusterServer, slurm: RealSlurm) -> None:
    _reach_each_other(slurm_server)
    _await_no_file(slurm, "PRIVATE KEY")


def _reach_each_other(slurm_server: MusterServer) -> None:
    if shutil.which("sshd", path="/usr/sbin:/usr/bin") is None:
        pytest.skip("there is no sshd")
    roles = {
        "master": {"command": "ssh worker-0 'echo I am $MUSTER_ROLE'", "minSucceeded": 1},
        "worker": {"command": "sleep 600"},
    }
    spec = {"name": "peers", "cluster": CLUSTER, "roles": roles, "ssh": True}
    job = slurm_server.submit(spec)

    assert slurm_server.wait(job["id"])["state"] == "Succeeded", slurm_server.run("logs", job["id"]).stdout
    assert "I am worker" in slurm_server.run("logs", job["id"], check=True).stdout


def _put(server: MusterServer) -> None:
    server.run("secret", "set", "key", input=VALUE, check=True)


def _running(server: MusterServer, slurm: RealSlurm) -> NotingJob:
    _put(server)
    job = submit_noting(server, slurm, secrets=_USES)
    job.await_running()
    return job


def _files_with(slurm: RealSlurm, text: str) -> list[Path]:
    return _found_below(text, slurm.folder / "shared")


def _found_below(text: str, *folders: Path) -> list[Path]:
    found = [Path(parent, name) for folder in folders for parent, _, names in os.walk(folder) for name in names]
    return [path for path in found if _has(path, text)]


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return 0  # gone meanwhile


def _has(path: Path, text: str) -> bool:
    try:
        return text.encode() in path.read_bytes()
    except OSError:
        return False  # gone meanwhile


def _await_no_file(slurm: RealSlurm, text: str = VALUE) -> None:
    files: list[Path] = []
    for _ in polls(60):
        files = _files_with(slurm, text)
        if not files:
            return
    raise AssertionError(f"{text} is still in {files}")
