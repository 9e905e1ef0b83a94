"""A namespace for each user, which the server creates with the user's first job."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import new_user
from tests.parts.kube import Kube, KubeNamespace, new_namespace
from tests.parts.kube_server import CLUSTER, server_over
from tests.parts.server import MusterServer, polls

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("user-namespaces")]
SHOWS = ["sh", "-c", "echo $GREETING; exec sleep 600"]


@pytest.fixture(scope="module")
def site(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MusterServer, str]]:
    """A server, and what the names of its users' namespaces begin with."""
    prefix = f"per-user-{secrets.token_hex(3)}"
    settings = {"namespace": f"{prefix}-{{user}}", "imagePullPolicy": "Never"}
    home = tmp_path_factory.mktemp("per-user") / "home"
    with server_over(KubeNamespace(kube, prefix), home, settings) as server:
        yield server, prefix
    for name in _namespaces(kube, prefix):
        KubeNamespace(kube, name).remove()


def _namespaces(kube: Kube, prefix: str) -> list[str]:
    listed = kube.request("GET", "/api/v1/namespaces")["items"]
    return [entry["metadata"]["name"] for entry in listed if entry["metadata"]["name"].startswith(prefix)]


def _submitted(who: Caller, value: str) -> str:
    ok(who.send("PUT", "/secrets/greeting", content=value.encode()), 201)
    spec = {
        "name": f"greets-{secrets.token_hex(3)}",
        "cluster": CLUSTER,
        "command": SHOWS,
        "resources": {"cpu": "50m"},
        "secrets": [{"name": "greeting", "env": "GREETING"}],
    }
    return str(who.submit(spec)["id"])


def test_each_user_has_a_namespace_with_nothing_of_anybody_else(kube: Kube, site: tuple[MusterServer, str]) -> None:
    server, prefix = site
    admin = Caller(server, server.token, "admin")
    people = {kind: new_user(admin, kind) for kind in ("amy", "bo")}
    assert not [name for name in _namespaces(kube, prefix) if "amy" in name or "bo" in name]
    jobs = {kind: _submitted(who, f"for-{kind}") for kind, who in people.items()}
    for job in jobs.values():
        server.wait_for_state(job, "Running", "Failed", timeout_s=120)
    for kind, who in people.items():
        place = KubeNamespace(kube, f"{prefix}-{who.name}")
        assert {pod["metadata"]["labels"]["muster/gang"] for pod in place.all("Pod")} == {f"{jobs[kind]}.1"}
        assert {entry["metadata"]["name"] for entry in place.all("Secret")} == {f"muster-{jobs[kind]}-1"}
        place.await_object("Pod", f"muster-{jobs[kind]}-1-worker-0", lambda pod: pod["status"]["phase"] == "Running")
        log = ""
        for _ in polls(60):
            if log := place.logs(f"muster-{jobs[kind]}-1-worker-0"):
                break
        assert log in ("***\n", f"for-{kind}\n")
        other = jobs["bo" if kind == "amy" else "amy"]
        assert who.get(f"/jobs/{other}/logs/raw", params={"task": "worker-0"}).status_code in (403, 404)
        assert who.post(f"/jobs/{other}/kill").status_code in (403, 404)
    for kind, who in people.items():
        ok(who.post(f"/jobs/{jobs[kind]}/kill"), 202)
        assert server.wait(jobs[kind])["state"] == "Cancelled"
        place = KubeNamespace(kube, f"{prefix}-{who.name}")
        place.await_gone("ConfigMap", f"muster-{jobs[kind]}-1")
        place.await_all("Pod", lambda pods: not pods)
        place.await_all("Secret", lambda found: not found)


def test_the_second_job_of_a_user_goes_into_the_same_namespace(kube: Kube, site: tuple[MusterServer, str]) -> None:
    server, prefix = site
    user = new_user(Caller(server, server.token, "admin"), "cy")
    for _ in range(2):
        spec = {
            "name": f"short-{secrets.token_hex(3)}",
            "cluster": CLUSTER,
            "command": ["true"],
            "resources": {"cpu": "50m"},
        }
        job = server.wait(user.submit(spec)["id"], 120)
        assert job["state"] == "Succeeded", json.dumps(job)
    assert [name for name in _namespaces(kube, prefix) if user.name in name] == [f"{prefix}-{user.name}"]


def test_a_dry_run_creates_no_namespace(kube: Kube, site: tuple[MusterServer, str], tmp_path: Path) -> None:
    server, prefix = site
    before = _namespaces(kube, prefix)
    file = tmp_path / "job.yaml"
    file.write_text(f"name: shown\ncluster: {CLUSTER}\ncommand: 'true'\n")
    server.run("submit", "--dry-run", str(file), check=True)
    assert _namespaces(kube, prefix) == before


def test_a_namespace_of_somebody_else_is_used_only_if_an_admin_says_so(
    kube: Kube, site: tuple[MusterServer, str]
) -> None:
    server, prefix = site
    user = new_user(Caller(server, server.token, "admin"), "cy")
    place = new_namespace(kube, f"{prefix}-{user.name}")
    job = _submitted(user, "hello")
    assert server.wait(job)["state"] == "Failed"
    explained = server.run("explain", job, check=True).stdout
    assert f"namespace {place.name} was not made by this server" in " ".join(explained.split())
    assert place.all("Pod") == []
    assert place.all("Secret") == []
    mark = explained.partition("muster/server=")[2][:16]
    kube.kubectl("label", "namespace", place.name, f"muster/server={mark}")
    spec = {"name": "allowed", "cluster": CLUSTER, "command": SHOWS, "resources": {"cpu": "50m"}}
    allowed = str(user.submit(spec)["id"])
    server.wait_for_state(allowed, "Running", timeout_s=120)
    server.run("kill", allowed, check=True)
    assert server.wait(allowed)["state"] == "Cancelled"
