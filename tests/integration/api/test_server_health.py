"""How the server says it is."""

from tests.integration.api.calling import ok
from tests.integration.api.people import People
from tests.parts.server import polls


def test_an_admin_sees_how_the_server_is(people: People) -> None:
    for _ in polls(30):
        health = ok(people.admin.get("/server/health"))
        if health["loop"]["longestDelayMs"] > 0:
            break
    assert (health["role"], health["isHeld"], health["uptimeS"] > 0) == ("acting", False, True)
    assert health["version"] == ok(people.admin.get("/whoami"))["server"]["version"]
    database = health["database"]
    assert (database["kind"], database["problem"], database["answersMs"] > 0) == ("sqlite", "", True)
    assert database["sizeBytes"] > 0
    assert database["lastEvent"] > 0
    assert health["loop"]["longestDelayMs"] >= health["loop"]["meanDelayMs"] >= 0
    assert health["disk"]["totalBytes"] > health["disk"]["freeBytes"] > 0
    process = health["process"]
    assert all(process[key] > 0 for key in ("memoryBytes", "cpuSeconds", "threads", "openFiles", "connections"))


def test_the_queue_counts_open_jobs(people: People) -> None:
    job = people.owner.submit({"name": "counted", "command": "true", "hold": True})
    assert ok(people.admin.get("/server/health"))["queue"]["open"] >= 1
    ok(people.owner.post(f"/jobs/{job['id']}/kill"), 202)


def test_everybody_with_a_token_may_check_that_the_server_writes(people: People) -> None:
    first = ok(people.owner.post("/server/write-check"))
    assert min(first["databaseMs"], first["diskMs"]) > 0
    assert first["installation"] == ok(people.admin.post("/server/write-check"))["installation"] != ""
    _, token = people.server.call("POST", "/api/v1/tokens", {"name": "watcher", "scope": "read"})
    assert people.server.call("POST", "/api/v1/server/write-check", token=token["secret"])[0] == 200
    assert people.server.call("POST", "/api/v1/jobs", {"spec": {}}, token=token["secret"])[0] == 403


def test_a_check_of_writing_leaves_no_file_behind(people: People) -> None:
    ok(people.owner.post("/server/write-check"))
    assert list((people.server.home / "logs").glob(".write-check-*")) == []


def test_a_server_that_cannot_write_to_its_disk_says_so(people: People) -> None:
    logs = people.server.home / "logs"
    aside = logs.rename(logs.with_name("logs-aside"))
    try:
        answer = people.owner.post("/server/write-check")
    finally:
        aside.rename(logs)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert "cannot write to its disk" in answer.json()["detail"]
