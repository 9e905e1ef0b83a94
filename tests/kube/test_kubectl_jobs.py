"""PaddleJobs that were made with kubectl, beside the jobs of a real server."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import new_user
from tests.parts.kube import Kube, KubeNamespace, new_namespace
from tests.parts.kube_server import PADDLE_CLUSTER, server_over
from tests.parts.operator_process import running_operator
from tests.parts.paddle_jobs import WAITS, install_definition, paddle_job, paddle_role
from tests.parts.server import MusterServer, polls

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("kubernetes-foreign-jobs")]


@pytest.fixture(scope="module")
def site(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MusterServer, KubeNamespace]]:
    base = tmp_path_factory.mktemp("foreign")
    install_definition(kube)
    namespace = new_namespace(kube, f"muster-foreign-{base.stat().st_ino}")
    settings = {"showOthers": [namespace.name], "imagePullPolicy": "Never"}
    with (
        running_operator(kube.cluster.kubeconfig, base / "operator.log", f"--namespace={namespace.name}"),
        server_over(namespace, base / "home", settings) as server,
    ):
        yield server, namespace
    namespace.remove()


@pytest.fixture
def server(site: tuple[MusterServer, KubeNamespace]) -> MusterServer:
    return site[0]


@pytest.fixture
def namespace(site: tuple[MusterServer, KubeNamespace]) -> KubeNamespace:
    return site[1]


def others(server: MusterServer) -> dict[str, Any]:
    return {one["id"]: one for one in server.json("get", "jobs", "--others", "--all")["items"]}


def awaited(server: MusterServer, condition: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in polls(120):
        found = others(server)
        if condition(found):
            return found
    raise AssertionError(f"waited in vain: {found}")


def test_a_job_made_with_kubectl_is_shown_until_it_is_deleted(server: MusterServer, namespace: KubeNamespace) -> None:
    job_id = f"{PADDLE_CLUSTER}:{namespace.name}:shown"
    namespace.create(paddle_job("shown", worker=paddle_role(2, WAITS), ps=paddle_role(1, WAITS)))
    found = awaited(server, lambda jobs: jobs.get(job_id, {}).get("state") == "Running")[job_id]
    assert (found["origin"], found["owner"], found["mode"]) == ("kubernetes", namespace.name, "PS")
    assert [(one["role"], one["replicas"], one["active"]) for one in found["roles"]] == [("ps", 1, 1), ("worker", 2, 2)]
    assert job_id in server.run("get", "jobs", check=True).stdout.partition("Not made with Muster:")[2]
    assert all(one["origin"] == "muster" for one in server.json("get", "jobs", "--all")["items"])
    assert "worker x2: 2 active" in server.run("describe", job_id, check=True).stdout
    assert "It was made with kubectl, and Muster only shows it." in server.run("explain", job_id, check=True).stdout
    namespace.delete("PaddleJob", "shown")
    awaited(server, lambda jobs: job_id not in jobs)
    assert server.run("describe", job_id).returncode != 0


@pytest.mark.parametrize(
    "command", [["kill"], ["hold"], ["bump"], ["retry"], ["delete", "-y"], ["change", "--set", "priority=high"]]
)
def test_every_change_is_refused_in_one_sentence(
    server: MusterServer, namespace: KubeNamespace, command: list[str]
) -> None:
    name = f"refused-{command[0]}"
    job_id = f"{PADDLE_CLUSTER}:{namespace.name}:{name}"
    namespace.create(paddle_job(name, worker=paddle_role(1, WAITS), suspend=True))
    awaited(server, lambda jobs: job_id in jobs)
    refused = server.run(command[0], job_id, *command[1:])
    assert refused.returncode != 0
    assert f"{job_id} was made with kubectl: change it there" in refused.stderr
    assert namespace.find("PaddleJob", name) is not None
    namespace.delete("PaddleJob", name)


@pytest.mark.parametrize("options", [[], ["-f"], ["-w", "worker"], ["--raw"]])
def test_logs_are_refused_with_the_command_that_shows_them(
    server: MusterServer, namespace: KubeNamespace, options: list[str]
) -> None:
    name = f"logs-{'-'.join(options).strip('-').replace('--', '-') or 'plain'}"
    job_id = f"{PADDLE_CLUSTER}:{namespace.name}:{name}"
    namespace.create(paddle_job(name, worker=paddle_role(1, WAITS), suspend=True))
    awaited(server, lambda jobs: job_id in jobs)
    refused = server.run("logs", job_id, *options)
    assert refused.returncode == 1
    assert f"{job_id} was made with kubectl: only its state and its explanation are shown here" in refused.stderr
    assert f"kubectl --namespace {namespace.name} logs" in refused.stderr
    namespace.delete("PaddleJob", name)


def test_a_job_that_muster_made_is_not_shown_twice(server: MusterServer, namespace: KubeNamespace) -> None:
    spec = {"name": "own", "cluster": PADDLE_CLUSTER, "framework": "paddle", "command": ["sleep", "600"]}
    job = server.submit({**spec, "replicas": 2, "resources": {"cpu": "50m"}})["id"]
    namespace.await_object("PaddleJob", f"muster-{job}-1", lambda _: True)
    # A job that comes later is shown, so that the earlier one would be, too.
    namespace.create(paddle_job("later", worker=paddle_role(1, WAITS), suspend=True))
    found = awaited(server, lambda jobs: any(one["name"] == "later" for one in jobs.values()))
    assert {one["name"] for one in found.values()} & {f"muster-{job}-1", "own"} == set()
    server.run("kill", job, check=True)
    assert server.wait(job)["state"] == "Cancelled"


def test_who_may_not_use_the_cluster_does_not_see_its_jobs(server: MusterServer, namespace: KubeNamespace) -> None:
    job_id = f"{PADDLE_CLUSTER}:{namespace.name}:hidden"
    namespace.create(paddle_job("hidden", worker=paddle_role(1, WAITS), suspend=True))
    awaited(server, lambda jobs: job_id in jobs)
    admin = Caller(server, server.token)
    member, stranger = new_user(admin, "member"), new_user(admin, "stranger")
    file = server.home / "clusters.d" / f"{PADDLE_CLUSTER}.yaml"
    before = file.read_text()
    file.write_text(f"{before}access: {{users: [{member.name}]}}\n")
    try:
        for _ in polls(60):
            if PADDLE_CLUSTER not in [one["name"] for one in ok(stranger.get("/clusters"))["items"]]:
                break
        awaited(server, lambda jobs: job_id in jobs)
        for caller, is_seen in ((member, True), (stranger, False)):
            listed = [one["id"] for one in ok(caller.get("/jobs", params={"origin": "others"}))["items"]]
            assert (job_id in listed) is is_seen
            assert (caller.get(f"/jobs/{job_id}").status_code == 200) is is_seen
            assert caller.post(f"/jobs/{job_id}/kill").status_code == (409 if is_seen else 404)
    finally:
        file.write_text(before)
        namespace.delete("PaddleJob", "hidden")
