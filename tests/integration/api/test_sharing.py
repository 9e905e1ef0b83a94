"""Virtual clusters over HTTP and on the command line: who sees what, files that change under a running server."""

from collections.abc import Iterator

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import new_user, unique
from tests.parts.server import MusterServer, polls, running_server

VCS = """
name: vision
description: The vision group.
guaranteed: {gpu: {A100: 2}}
max: {gpu: 3}
policy: fair
groups: [vision]
userLimits: {runningGpus: 2, queuedJobs: 5}
defaults: {env: {GREETING: hello}}
---
name: open
priorities: [low, normal]
limits: {runningJobs: 1}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("sharing")
    (home / "clusters.d").mkdir()
    (home / "clusters.d" / "vcs.yaml").write_text(VCS)
    with running_server(home, {"MUSTER_FAKE_GPUS": "4xA100"}) as running:
        yield running


@pytest.fixture(scope="module")
def admin(server: MusterServer) -> Caller:
    return Caller(server, server.token)


@pytest.fixture(scope="module")
def member(admin: Caller) -> Caller:
    who = new_user(admin, "member")
    ok(admin.send("PATCH", f"/users/{who.name}", json={"groups": ["vision", "vision"]}))
    return who


@pytest.fixture(scope="module")
def guest(admin: Caller) -> Caller:
    return new_user(admin, "guest")


def seen(who: Caller) -> list[str]:
    return [vc["name"] for vc in ok(who.get("/virtual-clusters"))["items"]]


def test_everybody_sees_what_they_may_use(admin: Caller, member: Caller, guest: Caller) -> None:
    assert (seen(admin), seen(member), seen(guest)) == (["vision", "open"], ["vision", "open"], ["open"])
    hidden = problem(guest.get("/virtual-clusters/vision"), 404, "not-found")
    assert hidden["detail"] == "there is no virtual cluster 'vision'"
    assert ok(admin.get("/virtual-clusters/vision"))["groups"] == ["vision"]
    assert ok(member.get("/virtual-clusters/vision"))["groups"] is None


def test_groups_are_for_admins_to_give(admin: Caller, guest: Caller) -> None:
    problem(guest.send("PATCH", f"/users/{guest.name}", json={"groups": ["vision"]}), 403, "forbidden")
    problem(admin.send("PATCH", f"/users/{guest.name}", json={"groups": ["no spaces"]}), 400, "bad-request")
    newcomer = unique("newcomer")
    assert ok(admin.post("/users", {"name": newcomer, "groups": ["b", "a", "b"]}), 201)["groups"] == ["a", "b"]
    assert ok(admin.send("PATCH", f"/users/{newcomer}", json={"groups": []}))["groups"] == []


def test_a_job_of_a_stranger_is_refused_and_one_of_a_member_runs(member: Caller, guest: Caller) -> None:
    spec = {"name": unique("hello"), "cluster": "vision", "command": "echo $GREETING"}
    refused = problem(guest.post("/jobs", {"spec": spec}), 422, "invalid")
    assert refused["detail"] == "there is no cluster 'vision'", "as if it did not exist"
    assert refused["problems"][0]["hint"] == "known clusters: local, open"
    problem(guest.post("/jobs:bulk", {"specs": [spec]}), 422, "invalid")
    job = member.submit(spec)
    assert member.server.wait(job["id"])["state"] == "Succeeded"
    assert "hello" in member.get(f"/jobs/{job['id']}/logs/raw", params={"task": "worker-0"}).text


def test_a_refusal_names_the_line_of_the_job_file(guest: Caller) -> None:
    source = "name: fast\ncluster: open\npriority: urgent\ncommand: 'true'\n"
    refused = problem(guest.post("/jobs", {"source": source}), 422, "invalid")
    (told,) = refused["problems"]
    assert (told["path"], told["line"], told["hint"]) == ("priority", 3, "one of low, normal")


def test_shares_follow_what_runs(admin: Caller, member: Caller) -> None:
    job = member.submit(
        {"name": unique("long"), "cluster": "vision", "command": "sleep 600", "resources": {"gpu": 2, "cpu": "100m"}}
    )
    member.server.wait_for_state(job["id"], "Running")
    vision = ok(member.get("/virtual-clusters/vision"))
    assert (vision["running"], vision["used"]["gpu"], vision["guaranteed"]["gpuModels"]) == (1, 2, {"A100": 2})
    waiting = member.submit(
        {"name": unique("more"), "cluster": "vision", "command": "true", "resources": {"gpu": 1, "cpu": "100m"}}
    )
    member.server.wait_for_state(waiting["id"], "Queued")
    limit = _quota(member, "runningGpus")
    assert (limit["user"], limit["limit"], limit["used"]) == (member.name, 2, 2)
    assert (limit["waiting"], limit["jobs"]) == (1, [waiting["name"]])
    assert _quota(member, "queuedJobs")["used"] == 1
    ok(member.post(f"/jobs/{job['id']}/kill", {"grace": "0s"}), 202)
    assert member.server.wait(waiting["id"])["state"] == "Succeeded"


def _quota(who: Caller, kind: str) -> dict[str, object]:
    items = ok(who.get("/quotas", params={"user": "me"}))["items"]
    (found,) = [item for item in items if item["kind"] == kind and item["vc"] == "vision"]
    return dict(found)


def test_limits_are_told_before_anything_is_used(guest: Caller, member: Caller, admin: Caller) -> None:
    items = [item for item in ok(guest.get("/quotas"))["items"] if item["vc"]]
    assert [(item["vc"], item["user"], item["kind"]) for item in items] == [("open", None, "runningJobs")]
    problem(guest.get("/quotas", params={"user": member.name}), 403, "forbidden")
    of_member = ok(admin.get("/quotas", params={"user": member.name}))["items"]
    expected = {("", member.name), ("vision", member.name), ("open", None)}
    assert {(item["vc"], item["user"]) for item in of_member} == expected
    problem(admin.get("/quotas", params={"user": "nobody-here"}), 404, "not-found")


def test_a_change_is_in_force_without_a_restart_and_a_mistake_is_told(server: MusterServer, guest: Caller) -> None:
    file = server.home / "clusters.d" / "more.yaml"
    file.write_text("name: more\nguaranted: {gpu: 1}\n")
    wrong = "more.yaml, line 2: guaranted: unknown key (did you mean guaranteed?)"
    _until(lambda: wrong in server.run("vc", "list").stderr)
    assert "more.yaml" in (server.home / "stderr.log").read_text()
    assert ok(guest.get("/virtual-clusters"))["problems"] == []
    assert "more" not in seen(guest)
    file.write_text("name: more\nguaranteed: {gpu: 3}\n")
    _until(lambda: "more is guaranteed on cluster local than it has" in server.run("vc", "list").stderr)
    file.write_text("name: more\nguaranteed: {gpu: 1}\n")
    _until(lambda: "more" in seen(guest))
    assert server.json("vc", "list")["problems"] == []
    file.unlink()
    _until(lambda: "more" not in seen(guest))


def test_the_command_line_shows_shares_and_limits(server: MusterServer) -> None:
    lines = server.run("vc", "list", check=True).stdout.splitlines()
    assert lines[0].split()[:3] == ["NAME", "POLICY", "GUARANTEED"]
    assert any(line.split()[:8] == ["vision", "fair", "2", "GPU", "(A100:", "2)", "3", "GPU"] for line in lines)
    told = server.run("vc", "describe", "vision", check=True).stdout
    assert "Limits of each user:" in told
    assert "GREETING=hello" in told
    quotas = server.json("get", "quota")["items"]
    assert ("open", "runningJobs") in {(quota["vc"], quota["kind"]) for quota in quotas}


def _until(condition: object) -> None:
    assert callable(condition)
    for _ in polls(30):
        if condition():
            return
    raise AssertionError("it did not come true in time")
