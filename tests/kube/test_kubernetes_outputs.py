"""Outputs of jobs on a real Kubernetes, which no storage shares with the server."""

import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.kube import Kube, KubeNamespace, Object, new_namespace
from tests.parts.kube_server import CLUSTER, PADDLE_CLUSTER, await_cluster, server_over
from tests.parts.paddle_jobs import install_definition
from tests.parts.server import MusterServer, polls

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("kubernetes-outputs")]
_KILLS_THE_KEEPER = """
import os, pathlib, signal, time
pathlib.Path("x").write_text("1")
while True:
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            is_first = "PPid:\\t0\\n" in (place / "status").read_text()
            if is_first and (place / "cmdline").read_bytes().startswith(b"sleep"):
                os.kill(int(place.name), signal.SIGTERM)
                print("it runs", flush=True)
                time.sleep(600)
        except OSError:
            continue
    time.sleep(0.2)
"""
Site = tuple[MusterServer, KubeNamespace]


@pytest.fixture(scope="module")
def site(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    install_definition(kube)
    namespace = new_namespace(kube, f"outputs-{secrets.token_hex(4)}")
    with server_over(namespace, tmp_path_factory.mktemp("outputs") / "home") as server:
        yield server, namespace
    namespace.remove()


def submitted(server: MusterServer, script: str, **more: Any) -> str:
    spec = {"name": f"job-{secrets.token_hex(4)}", "cluster": CLUSTER, "command": ["sh", "-c", script]}
    return str(server.submit({"resources": {"cpu": "50m"}, **spec, **more})["id"])


def collected(server: MusterServer, job: str) -> dict[str, Any]:
    """The listing of the outputs as soon as nothing more is to come."""
    found: Any = None
    for _ in polls(120, every_s=0.2):
        status, found = server.call("GET", f"/api/v1/jobs/{job}/outputs")
        if status == 200 and found["complete"]:
            return dict(found)
    raise AssertionError(f"the outputs of {job} were not collected: {found}")


def running(server: MusterServer, job: str, *words: str) -> None:
    """Wait until the task has printed these words."""
    for _ in polls(120, every_s=0.2):
        if all(word in server.run("logs", job).stdout for word in words):
            return
    raise AssertionError(server.run("explain", job).stdout)


def test_outputs_are_copied_from_the_pods_of_a_gang_which_then_go(site: Site, tmp_path: Path) -> None:
    server, namespace = site
    script = "mkdir model; head -c 5000000 /dev/urandom >model/w$MUSTER_RANK; sha256sum model/w$MUSTER_RANK; echo 1 >x"
    job = submitted(server, script, replicas=2, outputs=["model/"])
    assert server.wait(job, 120)["state"] == "Succeeded", server.run("explain", job).stdout
    found = collected(server, job)
    assert [one["path"] for one in found["items"]] == ["worker-0/model/w0", "worker-1/model/w1"]
    server.run("outputs", job, "--get", str(tmp_path / "got"), check=True)
    log = server.run("logs", job, check=True).stdout
    for path in ("worker-0/model/w0", "worker-1/model/w1"):
        digest = hashlib.sha256((tmp_path / "got" / path).read_bytes()).hexdigest()
        assert digest in log
    namespace.await_all("Pod", lambda pods: not pods, f"muster/gang={job}.1")
    namespace.await_gone("ConfigMap", f"muster-{job}-1")


def test_what_leads_out_or_is_not_text_is_not_collected(site: Site) -> None:
    server, _ = site
    script = (
        "mkdir out; ln -s /etc/passwd out/passwd; ln -s /proc/1/environ out/environ; ln -s .. out/up; "
        "echo fine >out/fine; ln -s fine out/link; mkfifo out/pipe; "
        'python3 -c \'open(b"out/\\xff", "w").write("odd")\''
    )
    job = submitted(server, script, outputs=["out/"])
    assert server.wait(job, 120)["state"] == "Succeeded", server.run("logs", job).stdout
    found = collected(server, job)
    assert [one["path"] for one in found["items"]] == ["out/fine", "out/link"]
    assert any("names that are not text" in problem for problem in found["problems"])


@pytest.mark.parametrize("code", [0, 3])
def test_a_task_counts_as_ended_with_its_own_container(site: Site, code: int) -> None:
    server, _ = site
    job = submitted(server, f"echo done >done; exit {code}", outputs=["done"])
    assert server.wait(job, 120)["state"] == ("Failed" if code else "Succeeded")
    assert [one["path"] for one in collected(server, job)["items"]] == ["done"]


def test_outputs_of_a_killed_job_are_collected(site: Site) -> None:
    server, namespace = site
    script = "trap 'echo saved >saved; exit 0' TERM; echo it runs; while :; do sleep 0.1; done"
    job = submitted(server, script, outputs=["saved"])
    running(server, job, "it runs")
    server.run("kill", job, check=True)
    assert server.wait(job, 120)["state"] == "Cancelled"
    assert [one["path"] for one in collected(server, job)["items"]] == ["saved"]
    namespace.await_all("Pod", lambda pods: not pods, f"muster/gang={job}.1")


def test_a_task_that_ignores_the_signal_is_killed_after_its_grace_and_keeps_its_outputs(site: Site) -> None:
    server, _ = site
    script = "trap '' TERM; echo kept >kept; echo it runs; while :; do sleep 0.1; done"
    job = submitted(server, script, outputs=["kept"], grace="2s")
    running(server, job, "it runs")
    server.run("kill", job, check=True)
    assert server.wait(job, 120)["state"] == "Cancelled"
    assert [one["path"] for one in collected(server, job)["items"]] == ["kept"]


def test_a_task_that_ends_the_container_beside_it_loses_its_own_outputs_and_nothing_stays(site: Site) -> None:
    server, namespace = site
    job = submitted(server, "", command=["python3", "-c", _KILLS_THE_KEEPER], outputs=["x"])
    running(server, job, "it runs")
    namespace.await_object("Pod", f"muster-{job}-1-worker-0", lambda one: not _keeps(one))
    server.run("kill", job, check=True)
    assert server.wait(job, 120)["state"] == "Cancelled"
    namespace.await_gone("ConfigMap", f"muster-{job}-1")
    found: Any = None
    for _ in polls(60, every_s=0.2):
        _, found = server.call("GET", f"/api/v1/jobs/{job}/outputs")
        if found["problems"]:
            break
    assert "its pod is gone, and its outputs with it" in found["problems"][0]


def test_a_paddle_job_with_outputs_runs_as_pods(site: Site) -> None:
    server, namespace = site
    job = submitted(server, "echo $PADDLE_TRAINER_ID >id", cluster=PADDLE_CLUSTER, framework="paddle", outputs=["id"])
    assert server.wait(job, 120)["state"] == "Succeeded", server.run("explain", job).stdout
    assert [one["path"] for one in collected(server, job)["items"]] == ["id"]
    assert namespace.find("PaddleJob", f"muster-{job}-1") is None


def test_a_server_that_was_away_at_the_end_collects_the_outputs_afterwards(site: Site) -> None:
    server, namespace = site
    job = submitted(server, "echo it runs; sleep 3; echo late >late", outputs=["late"])
    running(server, job, "it runs")
    server.kill()
    pod = f"muster-{job}-1-worker-0"
    namespace.await_object("Pod", pod, _has_ended)
    server.start()
    await_cluster(server)
    assert server.wait(job, 120)["state"] == "Succeeded"
    assert [one["path"] for one in collected(server, job)["items"]] == ["late"]


def _has_ended(pod: Object) -> bool:
    return "terminated" in _states(pod).get("task", {}) and _keeps(pod)


def _keeps(pod: Object) -> bool:
    return "running" in _states(pod).get("outputs", {})


def _states(pod: Object) -> dict[str, Any]:
    return {one["name"]: one["state"] for one in pod["status"].get("containerStatuses") or ()}
