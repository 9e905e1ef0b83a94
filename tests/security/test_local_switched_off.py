"""The server's own machine can be switched off: its jobs come to their end, and nobody starts another one there."""

from collections.abc import Iterator

import pytest

from tests.integration.api.calling import ok, problem
from tests.integration.api.people import unique
from tests.security.access_server import BATCH, FAR, Site, access_server, until

OFF = "backend: local\nenabled: false\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with access_server(tmp_path_factory.mktemp("off")) as site:
        yield site


def test_running_jobs_end_queued_ones_are_held_and_new_ones_are_refused(site: Site) -> None:
    site.restrict("{}", BATCH)
    until(lambda: site.clusters(site.member) == {"local", BATCH})
    go = site.data / "go"
    waits = f"while [ ! -e {go} ]; do sleep 0.05; done; echo done"
    running = site.admin.submit({"name": unique("running"), "command": waits, "cluster": "local"})["id"]
    site.server.wait_for_state(running, "Running")
    after = {"name": unique("queued"), "command": "true", "cluster": "local", "after": [running]}
    queued = site.admin.submit(after)["id"]
    site.write("local", OFF)
    until(lambda: ok(site.admin.get(f"/jobs/{queued}"))["state"] == "Held")
    assert ok(site.admin.get(f"/jobs/{queued}"))["reason"] == "cluster local is switched off"
    states = {one["name"]: one["state"] for one in ok(site.member.get("/clusters"))["items"]}
    assert states["local"] == "Draining"
    _assert_refused(site)
    _assert_survives_a_restart(site, running)
    go.touch()
    assert site.server.wait(running)["state"] == "Succeeded"
    until(lambda: site.clusters(site.member) == {BATCH})
    assert "done" in site.admin.get(f"/jobs/{running}/logs/raw", params={"task": "worker-0"}).text
    _assert_refused(site)
    problem(site.admin.post(f"/jobs/{queued}/resume"), 409, "conflict")

    site.write("local", "backend: local\n")
    until(lambda: site.clusters(site.member) == {"local", BATCH})
    assert site.server.wait(queued)["state"] == "Succeeded"


def _assert_refused(site: Site) -> None:
    spec = {"name": unique("new"), "command": "true", "hold": True}
    for path, body in (("/jobs", {"spec": {**spec, "cluster": "local"}}), ("/jobs?dryRun=true", {"spec": spec})):
        answer = site.member.post(path, body)
        if "cluster" in body["spec"]:
            (told,) = problem(answer, 422, "invalid")["problems"]
            assert (told["path"], told["message"]) == ("cluster", "cluster local is switched off")
            assert told["hint"] == f"known clusters: {BATCH}"
        else:
            assert ok(answer)["job"]["cluster"] == BATCH, "the only other cluster is the default"


def _assert_survives_a_restart(site: Site, running: str) -> None:
    site.server.stop()
    site.server.start()
    until(lambda: ok(site.admin.get(f"/jobs/{running}"))["state"] == "Running")


def test_with_several_other_clusters_the_user_has_to_name_one(site: Site) -> None:
    site.write("local", OFF)
    site.restrict("{}", BATCH, FAR)
    until(lambda: site.clusters(site.member) == {BATCH, FAR})
    spec = {"name": unique("new"), "command": "true", "hold": True}
    (told,) = problem(site.member.post("/jobs", {"spec": spec}), 422, "invalid")["problems"]
    assert told["message"] == "is missing, and this server has no default cluster"
    assert told["hint"] == f"{site.member.name} may use {BATCH}, {FAR}"
    assert not any(one["default"] for one in ok(site.member.get("/clusters"))["items"])
    site.write("vcs", "name: nowhere\n")
    until(lambda: "cluster: is missing, and local is switched off" in site.server.run("vc", "list").stderr)
    site.write("vcs", f"{{name: default, cluster: {FAR}}}\n")
    until(lambda: site.member.get("/virtual-clusters/default").status_code == 200)
    assert ok(site.member.post("/jobs", {"spec": spec}), 201)["cluster"] == FAR


def test_removing_the_file_brings_the_machine_back(site: Site) -> None:
    (site.server.home / "clusters.d" / "local.yaml").unlink()
    until(lambda: "local" in site.clusters(site.member))
    job = site.admin.submit({"name": unique("back"), "command": "true", "cluster": "local"})
    assert site.server.wait(job["id"])["state"] == "Succeeded"
