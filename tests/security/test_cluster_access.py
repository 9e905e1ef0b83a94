"""Access lists of physical clusters: nobody else learns of the cluster, and nobody else does anything there."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import unique
from tests.integration.api.rights_table import TABLE
from tests.security.access_server import (
    BATCH,
    CLUSTERS,
    FAR,
    FOLDER,
    GROUP,
    HIDDEN,
    HIDDEN_GONE,
    NODE,
    Site,
    access_server,
    until,
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with access_server(tmp_path_factory.mktemp("access")) as site:
        site.restrict(f"{{groups: [{GROUP}]}}", *CLUSTERS)
        site.write(
            "vcs",
            f"{{name: fast, cluster: {BATCH}, limits: {{runningJobs: 9}}}}\n---\n{{name: near, cluster: local}}\n",
        )
        until(lambda: site.clusters(site.member) == set(CLUSTERS) and not site.clusters(site.outsider))
        until(lambda: site.admin.get("/virtual-clusters/near").status_code == 200)
        yield site


def held(cluster: str | None, **more: Any) -> dict[str, Any]:
    return {"name": unique("job"), "command": "true", "hold": True, **({"cluster": cluster} if cluster else {}), **more}


SUBMITTABLE = ("local", BATCH, "fast", "near")


@pytest.mark.parametrize("cluster", SUBMITTABLE)
def test_only_members_and_admins_submit(site: Site, cluster: str) -> None:
    for path, body, query in (
        ("/jobs", {"spec": held(cluster)}, {}),
        ("/jobs", {"spec": held(cluster)}, {"dryRun": True}),
        ("/jobs:bulk", {"specs": [held(cluster)]}, {}),
    ):
        refused = problem(site.outsider.post(path, body, params=query), 422, "invalid")
        said = refused["problems"][0]
        assert said["message"] == f"there is no cluster {cluster!r}", "as if it did not exist"
        assert said["hint"] == "ask an admin for access to a cluster"
        assert site.member.post(path, body, params=query).status_code in (200, 201)
    assert ok(site.admin.post("/jobs", {"spec": held(cluster)}), 201)["cluster"] in CLUSTERS


def test_a_job_that_names_no_cluster_is_asked_for_one(site: Site) -> None:
    refused = problem(site.outsider.post("/jobs", {"spec": held(None)}), 422, "invalid")
    assert refused["problems"][0]["hint"] == "ask an admin for access to a cluster"
    assert ok(site.member.post("/jobs", {"spec": held(None)}), 201)["cluster"] == "local"


def test_a_waiting_job_cannot_be_moved_there_nor_explained_as_if_it_were(site: Site) -> None:
    """The outsider has a job from the time before, when it could be submitted."""
    ok(site.admin.send("PATCH", f"/users/{site.outsider.name}", json={"groups": [GROUP]}))
    job = site.outsider.submit(held("local"))["id"]
    ok(site.admin.send("PATCH", f"/users/{site.outsider.name}", json={"groups": []}))
    problem(site.outsider.get(f"/jobs/{job}/explain", params={"what_if": f"cluster={BATCH}"}), 422, "invalid")
    problem(site.outsider.post(f"/jobs/{job}/move", {"to": BATCH}), 422, "invalid")
    problem(site.outsider.post(f"/jobs/{job}/change", {"set": {"cluster": "fast"}}), 422, "invalid")
    refused = problem(site.outsider.post(f"/jobs/{job}/resume"), 409, "conflict")
    assert f"{site.outsider.name} may no longer use cluster local" in refused["detail"]
    ok(site.outsider.post(f"/jobs/{job}/kill"), 202)
    problem(site.outsider.post(f"/jobs/{job}/retry"), 422, "invalid")


def test_files_environments_and_nodes_are_not_there_for_others(site: Site) -> None:
    folder = {"path": FOLDER}
    file = {"path": f"{FOLDER}/file"}
    for cluster in ("local", "near"):
        base = f"/clusters/{cluster}/files"
        for method, path, options in (
            ("GET", "/folders", {}),
            ("GET", "", {"params": folder}),
            ("GET", "/stat", {"params": file}),
            ("GET", "/content", {"params": file}),
            ("PUT", "/content", {"params": {**file, "size": 1, "sha256": "0" * 64}, "content": b"x"}),
            ("GET", "/upload", {"params": {**file, "sha256": "0" * 64}}),
            ("DELETE", "/upload", {"params": {**file, "sha256": "0" * 64}}),
            ("GET", "/digest", {"params": file}),
            ("GET", "/usage", {"params": folder}),
            ("POST", "/mkdir", {"json": {"path": f"{FOLDER}/new"}}),
            ("POST", "/move", {"json": {**file, "to": f"{FOLDER}/moved"}}),
            ("POST", "/copy", {"json": {**file, "to": f"{FOLDER}/copied"}}),
            ("DELETE", "", {"params": file}),
        ):
            refused = problem(site.outsider.send(method, base + path, **options), 404, "not-found")
            assert refused["detail"] == f"there is no cluster {cluster!r}"
        assert site.member.get(f"{base}/content", params=file).text == "content"
    for name, cluster in ((NODE, FAR), (site.server.run("get", "nodes").stdout.split("\n")[1].split()[0], "local")):
        for path in (f"/nodes/{name}", f"/nodes/{name}/usage"):
            problem(site.outsider.get(path), 404, "not-found")
            problem(site.outsider.get(path, params={"cluster": cluster}), 404, "not-found")
        ok(site.member.get(f"/nodes/{name}"))
    for cluster in (*CLUSTERS, "fast"):
        problem(site.outsider.get("/environments", params={"cluster": cluster}), 404, "not-found")
        body = {"name": "python3", "cluster": cluster}
        problem(site.outsider.post("/environments:test", body), 404, "not-found")
    problem(site.outsider.get("/environments", params={"node": NODE}), 404, "not-found")


def test_nodes_do_not_name_folders_to_users_who_may_not_use_them(site: Site) -> None:
    def labels(who: Caller) -> list[Any]:
        return [node["labels"] for node in ok(who.get("/nodes", params={"cluster": "local"}))["items"]]

    until(lambda: any(f"muster/folder.{HIDDEN}" in found for found in labels(site.admin)))
    until(lambda: HIDDEN_GONE in site.admin.get("/events", params={"kind": "node.alert"}).text)
    assert all(f"muster/folder.{FOLDER}" in found for found in labels(site.member))
    node = ok(site.member.get("/nodes", params={"cluster": "local"}))["items"][0]["name"]
    events = "/events?kind=node.alert"
    for path in ("/nodes", f"/nodes/{node}", "/usage", events, "/clusters", "/clusters/local/files/folders"):
        assert HIDDEN not in site.member.get(path).text, path


def test_unknown_names_in_access_lists_are_in_the_log_and_in_the_check(site: Site) -> None:
    draft = site.data.with_name("draft.yaml")
    draft.write_text(f"backend: ssh\nnodes: []\naccess: {{users: [amy-typo], groups: [{GROUP}, no-group]}}\n")
    checked = site.server.run("cluster", "check", str(draft))
    assert checked.returncode == 0, checked.stdout
    hidden = [f"folder {name} of cluster local: there is no user nobody-here" for name in (HIDDEN, HIDDEN_GONE)]
    warnings = [
        *hidden,
        "cluster draft: there is no user amy-typo",
        "cluster draft: nobody is in group no-group",
    ]
    assert sorted(line for line in checked.stderr.splitlines() if line.startswith("warning")) == sorted(
        f"warning: {text}" for text in warnings
    )
    until(lambda: all(text in (site.server.home / "stderr.log").read_text() for text in hidden))


def readable(site: Site, who: Caller) -> Iterator[tuple[str, str]]:
    """Everything that can be read without naming one thing, and what is open to people without a token."""
    for row in TABLE:
        if row.method == "GET" and "{" not in row.route:
            query = {"user": who.name} if row.route.endswith("/quotas") else {}
            if row.route.endswith("/events"):
                query = {"limit": "1000"}
            answer = httpx.get(
                site.server.url + row.route, params=query, headers={"Authorization": f"Bearer {who.token}"}, timeout=60
            )
            assert answer.status_code < 500, (row.route, answer.text)
            yield row.route, answer.text


def test_no_list_names_a_cluster_that_is_not_for_the_caller(site: Site) -> None:
    secret = (FAR, BATCH, NODE, "fast")
    told = {route for route, text in readable(site, site.member) if any(name in text for name in secret)}
    expected = {"/clusters", "/virtual-clusters", "/quotas", "/nodes", "/usage", "/events"}
    assert {f"/api/v1{route}" for route in expected} | {"/metrics"} <= told
    leaks = {(route, name) for route, text in readable(site, site.outsider) for name in secret if name in text}
    assert not leaks


def test_a_name_that_is_wrong_is_answered_with_what_one_may_use(site: Site) -> None:
    wrong = problem(site.member.post("/jobs", {"spec": held("nowhere")}), 422, "invalid")
    assert wrong["problems"][0]["hint"] == f"known clusters: {BATCH}, {FAR}, local, fast, near"
    wrong = problem(site.outsider.post("/jobs", {"spec": held("nowhere")}), 422, "invalid")
    assert wrong["problems"][0]["hint"] == "ask an admin for access to a cluster"


def test_admins_see_who_may_use_a_cluster_and_others_do_not(site: Site) -> None:
    assert {str(one["access"]) for one in ok(site.admin.get("/clusters"))["items"]} == {
        f"{{'users': [], 'groups': ['{GROUP}']}}"
    }
    assert {one["access"] for one in ok(site.member.get("/clusters"))["items"]} == {None}
    assert f"group {GROUP}; admins" in site.server.run("describe", f"cluster/{FAR}", check=True).stdout


def test_a_queued_job_is_held_while_its_owner_may_not_use_the_cluster(site: Site) -> None:
    """The node of the cluster cannot be reached, so the job waits."""
    site.restrict(f"{{users: [{site.outsider.name}]}}", FAR)
    until(lambda: site.clusters(site.outsider) == {FAR})
    job = site.outsider.submit({**held(None), "hold": False})
    assert (job["cluster"], job["state"]) == (FAR, "Queued"), "the only cluster that one may use is the default"
    other = job["id"]
    site.restrict(f"{{groups: [{GROUP}]}}", FAR)
    until(lambda: ok(site.outsider.get(f"/jobs/{other}"))["state"] == "Held")
    reason = f"{site.outsider.name} may no longer use cluster {FAR}"
    assert ok(site.outsider.get(f"/jobs/{other}"))["reason"] == reason
    told = ok(site.outsider.get(f"/jobs/{other}/explain"))
    assert reason in told["summary"]
    ok(site.admin.send("PATCH", f"/users/{site.outsider.name}", json={"groups": [GROUP]}))
    until(lambda: ok(site.outsider.get(f"/jobs/{other}"))["state"] == "Queued")
    ok(site.admin.send("PATCH", f"/users/{site.outsider.name}", json={"groups": []}))
    until(lambda: ok(site.outsider.get(f"/jobs/{other}"))["state"] == "Held")
    ok(site.outsider.post(f"/jobs/{other}/kill"), 202)
