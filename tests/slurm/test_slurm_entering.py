"""`muster exec` and `muster port-forward` on a real Slurm cluster, and that nothing of them is left behind."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from muster.agent.batch.entry import STEP_NAME
from tests.parts.host_claims import PATH
from tests.parts.server import PATIENCE, MusterServer, polls
from tests.parts.slurm import OTHER_PERSON, RealSlurm
from tests.parts.slurm_commands import command_of, login_agent_of
from tests.parts.slurm_jobs import NotingJob, noting_job, submit_noting
from tests.parts.slurm_server import CLUSTER, serving_slurm, token_of

pytestmark = pytest.mark.slurm
_HTTP = "cd {folder} && echo served by $MUSTER_TASK > page && exec python3 -u -m http.server --bind 127.0.0.1 0"
_REFUSING = """#!/bin/sh
case "$*" in
  *--overlap*) echo "srun: error: Unable to create step for job 1: Access/permission denied" >&2; exit 1;;
esac
exec {srun} "$@"
"""


@pytest.mark.parametrize("fixture", ["slurm_server", "unshared_server"])
def test_both_components_of_a_job_are_entered_and_nothing_is_left(
    slurm: RealSlurm, request: pytest.FixtureRequest, fixture: str
) -> None:
    server: MusterServer = request.getfixturevalue(fixture)
    job = _submit_roles(server, slurm)
    job.await_running(tasks=3)
    script = "echo $MUSTER_ROLE $MUSTER_NODE $(uname -n) gpus:$CUDA_VISIBLE_DEVICES"
    said = {worker: _exec(server, job, worker, script) for worker in ("ps-0", "worker-0", "worker-1")}

    assert said["ps-0"].split()[0] == "ps"
    assert {said[one].split()[0] for one in ("worker-0", "worker-1")} == {"worker"}
    assert all(words.split()[1] == words.split()[2] for words in said.values()), said
    assert all(said[one].split()[3] in ("gpus:0", "gpus:1") for one in ("worker-0", "worker-1")), said
    assert len(_entered(slurm)) == 3, "one step for each task that was entered"
    _exec(server, job, "ps-0", "true")
    assert len(_entered(slurm)) == 3, "whoever comes next shares it"

    job.let_go()
    assert server.wait(job.id)["state"] == "Succeeded"
    _await_nothing_left(slurm)
    assert server.run("exec", job.id, "--", "true").returncode != 0


def test_page_of_a_task_is_reached_through_the_server(slurm: RealSlurm, slurm_server: MusterServer) -> None:
    command = _HTTP.format(folder="$MUSTER_TASK_DIR/work")
    job = slurm_server.submit({"name": "page", "cluster": CLUSTER, "command": command})["id"]
    port = _said_port(slurm_server, job)

    with _forwarded(slurm_server, job, f"0:{port}") as local, urlopen(f"http://127.0.0.1:{local}/page") as page:
        assert page.read().decode().startswith("served by")

    slurm_server.run("kill", job, check=True)
    slurm_server.wait(job)
    _await_nothing_left(slurm)


@pytest.mark.parametrize("victim", ["srun", "agent", "server"])
def test_commands_end_when_somebody_on_the_way_is_killed(
    slurm: RealSlurm, slurm_server: MusterServer, victim: str
) -> None:
    job = submit_noting(slurm_server, slurm)
    job.await_running()
    running = slurm_server.popen("exec", job.id, "--", "sh", "-c", "setsid sleep 54321 & echo ready; wait")
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    assert _processes(slurm, "sleep 54321")

    agent = login_agent_of(slurm_server.pid)
    if victim == "server":
        slurm_server.kill()
    else:
        _send_kill(agent if victim == "agent" else command_of(agent, "srun", f"--jobid={job.slurm_job}"))

    running.communicate(timeout=60 * PATIENCE)
    assert running.returncode != 0
    for _ in polls(60):
        if not _processes(slurm, "sleep 54321"):
            break
    assert not _processes(slurm, "sleep 54321")
    for _ in polls(60):
        if not _entered(slurm):
            break
    assert not _entered(slurm)
    if victim == "server":
        slurm_server.start()
    assert job.starts == {"0": 1}, "the task itself goes on"
    job.let_go()
    assert slurm_server.wait(job.id)["state"] == "Succeeded"


def test_refused_step_is_explained_in_slurms_words(slurm: RealSlurm, tmp_path: Path) -> None:
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in ("sbatch", "squeue", "sacct", "sinfo", "scontrol", "scancel"):
        (commands / name).symlink_to(_found(name))
    (commands / "srun").write_text(_REFUSING.format(srun=_found("srun")))
    (commands / "srun").chmod(0o755)
    with serving_slurm(tmp_path / "home", slurm, commands=str(commands)) as server:
        job = submit_noting(server, slurm)
        job.await_running()

        refused = server.run("exec", job.id, "--", "true")

        assert refused.returncode != 0
        assert "Unable to create step for job 1: Access/permission denied" in refused.stderr, refused.stderr


def test_command_runs_under_the_account_of_the_jobs_owner(slurm: RealSlurm, tmp_path: Path) -> None:
    if shutil.which("sudo") is None:
        pytest.skip("there is no sudo")
    with serving_slurm(tmp_path / "home", slurm, submitAs="user") as server:
        spec = {"name": "own", "cluster": CLUSTER, "command": "sleep 1000", "resources": {"cpu": 1}}
        status, job = server.call("POST", "/api/v1/jobs", {"spec": spec}, token=token_of(server, OTHER_PERSON))
        assert status < 300, job
        server.wait_for_state(job["id"], "Running")

        said = server.run("exec", job["id"], "--", "id", "--user", "--name", check=True).stdout

        assert said.strip() == OTHER_PERSON
        server.run("kill", job["id"], check=True)
        _await_nothing_left(slurm)


def _submit_roles(server: MusterServer, slurm: RealSlurm) -> NotingJob:
    spec, folder = noting_job(slurm, "wide", framework="paddle")
    command = spec.pop("command")
    ps = {"replicas": 1, "command": command, "resources": {"cpu": 1}}
    worker = {"replicas": 2, "command": command, "resources": {"cpu": 2, "gpu": 1, "gpuType": "a100"}}
    del spec["resources"]
    job = server.submit({**spec, "roles": {"ps": ps, "worker": worker}})
    return NotingJob(server, slurm, job["id"], folder)


def _exec(server: MusterServer, job: NotingJob, worker: str, script: str) -> str:
    return server.run("exec", job.id, "-w", worker, "--", "sh", "-c", script, check=True).stdout


def _entered(slurm: RealSlurm) -> list[str]:
    """The steps that were started beside tasks."""
    rows = slurm.run("squeue", "--noheader", "--steps", "--format=%i %j").splitlines()
    return [row.split()[0] for row in rows if row.endswith(STEP_NAME)]


def _await_nothing_left(slurm: RealSlurm) -> None:
    for _ in polls(60):
        steps = slurm.run("squeue", "--noheader", "--steps", "--format=%i").split()
        if not steps and not _processes(slurm, "task_session"):
            return
    lines = "\n".join(line[:200] for line in _processes(slurm, ""))
    raise AssertionError(f"{slurm.run('squeue', '--steps')}{lines}")


def _processes(slurm: RealSlurm, words: str) -> list[str]:
    """The command lines with these words of all processes on the nodes of this cluster, and of its commands."""
    return [line for line, env in _all_processes() if words in line and str(slurm.conf) in env]


def _all_processes() -> Iterator[tuple[str, str]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            yield line, (folder / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue


def _send_kill(pid: int) -> None:
    subprocess.run(["kill", "-KILL", str(pid)], check=True)


def _found(name: str) -> str:
    path = shutil.which(name, path=PATH)
    assert path is not None, f"there is no {name}"
    return path


def _said_port(server: MusterServer, job: str) -> int:
    for _ in polls(60):
        said = server.run("logs", job).stdout
        if " port " in said:
            return int(said.split(" port ")[1].split()[0])
    raise AssertionError(server.run("explain", job).stdout)


@contextmanager
def _forwarded(server: MusterServer, job: str, ports: str) -> Iterator[int]:
    process = server.popen("port-forward", job, ports)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Forwarding from 127.0.0.1:"), line
        yield int(line.split("127.0.0.1:")[1].split()[0])
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60 * PATIENCE)
