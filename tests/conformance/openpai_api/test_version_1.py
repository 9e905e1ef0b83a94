"""The first API, as the Python SDK calls it through OpenPAI's proxy, and the part of it beside Muster's own API."""

import pytest

from tests.conformance.openpai_api.client import PROXY, PaiClient, job_file, ok, refused
from tests.integration.api.people import PASSWORD, People, new_user, unique


@pytest.fixture(params=["", PROXY], ids=["direct", "proxy"])
def client(request: pytest.FixtureRequest, pai_people: People) -> PaiClient:
    """Somebody who has logged in with a password, as the SDK does when it makes its first call."""
    user = new_user(pai_people.admin, "pai")
    given = {"username": user.name, "password": PASSWORD, "expiration": 3600}
    token = ok(PaiClient(pai_people.server, root=request.param).send("POST", "/api/v1/token", json=given))["token"]
    return PaiClient(pai_people.server, user.name, token, root=request.param)


def test_the_sdk_submits_shows_and_stops_a_job(client: PaiClient) -> None:
    name = unique("sdk")
    text = job_file(name, "exec tail -f /dev/null")
    jobs = f"/api/v1/user/{client.user}/jobs"
    ok(client.submit(text), 202)

    assert [one["name"] for one in ok(client.send("GET", jobs))] == [name]
    assert ok(client.send("GET", f"{jobs}/{name}"))["name"] == name
    assert client.send("GET", f"{jobs}/{name}/config").text == text
    refused(client.send("GET", f"{jobs}/{name}/ssh"), 404, "NoJobSshInfoError")
    ok(client.send("PUT", f"{jobs}/{name}/executionType", json={"value": "STOP"}), 202)
    assert client.wait(name)["jobStatus"]["state"] == "STOPPED"


def test_a_job_is_submitted_below_its_user_and_for_nobody_else(client: PaiClient) -> None:
    name = unique("below")
    text = job_file(name, "true").encode()
    ok(client.send("POST", f"/api/v1/user/{client.user}/jobs", content=text), 202)
    refused(client.send("POST", "/api/v1/user/root/jobs", content=text), 403, "ForbiddenUserError")


def test_a_client_of_the_second_api_stops_a_job_below_its_user(client: PaiClient) -> None:
    name = unique("second")
    ok(client.submit(job_file(name, "exec tail -f /dev/null")), 202)
    path = f"/api/v2/user/{client.user}/jobs/{name}/executionType"
    ok(client.send("PUT", path, json={"value": "STOP"}), 202)
    assert client.wait(name)["jobStatus"]["state"] == "STOPPED"


def test_the_sdk_checks_a_cluster(owner: PaiClient) -> None:
    assert ok(owner.send("GET", "/api/v1"))["authnMethod"] == "basic"
    assert "default" in ok(owner.send("GET", f"/api/v1/user/{owner.user}"))["virtualCluster"]
    clusters = ok(owner.send("GET", "/api/v1/virtual-clusters"))
    total, used = clusters["default"]["resourcesTotal"], clusters["default"]["resourcesUsed"]
    assert {key: max(0, int(total[key] - used[key])) for key in total}["GPUs"] <= 2
    assert isinstance(ok(owner.send("GET", "/api/v1/jobs")), list)


def test_nobody_lists_jobs_without_a_token(owner: PaiClient) -> None:
    nobody = PaiClient(owner.server)
    for path in ("/api/v1/jobs", f"/api/v1/user/{owner.user}/jobs", "/api/v2/jobs"):
        refused(nobody.send("GET", path), 401, "UnauthorizedUserError")
