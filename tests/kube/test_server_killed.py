"""The server is killed at several points of a job's life on Kubernetes: every task runs once, and nothing is lost."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.parts.kube import Kube, KubeNamespace, new_namespace, phase
from tests.parts.kube_server import CLUSTER, PADDLE_CLUSTER, await_cluster, server_over
from tests.parts.operator_process import running_operator
from tests.parts.paddle_jobs import install_definition
from tests.parts.server import MusterServer

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("server-killed")]
TASKS = 2
PROGRAM = """
echo started >> /data/$JOB.$MUSTER_RANK
echo begun
while [ ! -e /data/$JOB.go ]; do sleep 0.1; done
echo finished
"""


@dataclass(frozen=True)
class Site:
    server: MusterServer
    namespace: KubeNamespace
    data: Path


@dataclass(frozen=True)
class Submitted:
    site: Site
    id: str
    word: str
    """What the files of its tasks are called."""

    def let_go(self) -> None:
        (self.site.data / f"{self.word}.go").touch()

    def await_pods(self, *phases: str) -> None:
        self.site.namespace.await_all(
            "Pod",
            lambda pods: len(pods) == TASKS and all(phase(pod) in phases for pod in pods),
            f"muster/gang={self.id}.1",
            120,
        )


@pytest.fixture(scope="module")
def site(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    base = tmp_path_factory.mktemp("killed")
    (base / "data").mkdir()
    install_definition(kube)
    namespace = new_namespace(kube, f"server-killed-{secrets.token_hex(3)}")
    settings = {"folders": {"data": str(base / "data")}, "imagePullPolicy": "Never"}
    with (
        running_operator(kube.cluster.kubeconfig, base / "operator.log", f"--namespace={namespace.name}"),
        server_over(namespace, base / "home", settings) as server,
    ):
        yield Site(server, namespace, base / "data")
    namespace.remove()


def at_once(job: Submitted) -> None:
    """The job has been accepted, and perhaps nothing of it is in Kubernetes yet."""


def with_its_first_object(job: Submitted) -> None:
    job.site.namespace.await_all(
        "ConfigMap", lambda found: any(one["metadata"]["name"].startswith(f"muster-{job.id}-1") for one in found)
    )


def with_its_pods(job: Submitted) -> None:
    job.await_pods("Pending", "Running")


def while_it_runs(job: Submitted) -> None:
    job.site.server.wait_for_state(job.id, "Running", timeout_s=120)


def when_it_may_end(job: Submitted) -> None:
    """The tasks end while the server dies."""
    while_it_runs(job)
    job.let_go()


@pytest.mark.parametrize("cluster", [CLUSTER, PADDLE_CLUSTER])
@pytest.mark.parametrize("point", [at_once, with_its_first_object, with_its_pods, while_it_runs, when_it_may_end])
def test_every_task_runs_once_and_its_log_is_complete(
    site: Site, point: Callable[[Submitted], None], cluster: str
) -> None:
    job = submitted(site, cluster)
    point(job)
    site.server.kill()
    if point is while_it_runs:
        job.let_go()  # it ends while no server looks
        job.await_pods("Succeeded")
    site.server.start()
    await_cluster(site.server)
    job.let_go()
    ended = site.server.wait(job.id, 120)
    assert (ended["state"], ended["attempt"]) == ("Succeeded", 1), site.server.run("explain", job.id).stdout
    for rank in range(TASKS):
        assert (site.data / f"{job.word}.{rank}").read_text() == "started\n", "it was started once"
    lines = site.server.run("logs", job.id, check=True).stdout.splitlines()
    for word in ("begun", "finished"):
        assert sum(line.endswith(word) for line in lines) == TASKS, lines
    for kind in ("PaddleJob", "ConfigMap"):
        site.namespace.await_gone(kind, f"muster-{job.id}-1")
    site.namespace.await_all("Pod", lambda pods: not pods, f"muster/gang={job.id}.1")


def test_a_job_that_was_just_stopped_stays_stopped(site: Site) -> None:
    job = submitted(site, CLUSTER)
    while_it_runs(job)
    site.server.run("kill", job.id, check=True)
    site.server.kill()
    site.server.start()
    await_cluster(site.server)
    ended = site.server.wait(job.id, 120)
    assert (ended["state"], ended["attempt"]) == ("Cancelled", 1)
    site.namespace.await_all("Pod", lambda pods: not pods, f"muster/gang={job.id}.1")


def submitted(site: Site, cluster: str) -> Submitted:
    word = f"job-{secrets.token_hex(4)}"
    spec = {
        "name": word,
        "cluster": cluster,
        "framework": "paddle",
        "replicas": TASKS,
        "command": ["sh", "-c", PROGRAM],
        "env": {"JOB": word},
        "resources": {"cpu": "50m"},
        "mounts": [{"source": "data", "target": "/data"}],
    }
    return Submitted(site, str(site.server.submit(spec)["id"]), word)
