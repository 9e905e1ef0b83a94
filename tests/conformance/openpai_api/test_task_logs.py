"""What tasks print, by links that need no token; and what happened to a job."""

import pytest

from tests.conformance.openpai_api.client import PaiClient, fetch, job_file, ok, refused
from tests.integration.api.people import People, new_user, unique

LOGS = "/attempts/0/taskRoles/worker/taskIndex/{}/attempts/0/logs"


def ran(client: PaiClient, *commands: str, instances: int = 1) -> str:
    name = unique("logs")
    client.ran(job_file(name, *commands, instances=instances), name)
    return name


def test_the_log_of_a_task_is_read_by_a_link(owner: PaiClient) -> None:
    name = ran(owner, "echo this is $PAI_TASK_INDEX", instances=2)

    locations = ok(owner.get(owner.job(name, LOGS.format(1))))["locations"]

    assert [location["name"] for location in locations] == ["all"]
    log = fetch(locations[0]["uri"])
    assert (log.status_code, log.text) == (200, "this is 1\n")
    assert log.headers["content-type"].startswith("text/plain")
    assert log.headers["x-content-type-options"] == "nosniff"
    assert fetch(locations[0]["uri"], Range="bytes=5-6").text == "is"


def test_tail_mode_has_the_end_of_a_long_log(owner: PaiClient) -> None:
    name = ran(owner, "seq 1 5000")

    def text(**query: str) -> str:
        return fetch(ok(owner.get(owner.job(name, LOGS.format(0)), **query))["locations"][0]["uri"]).text

    assert text() == "".join(f"{number}\n" for number in range(1, 5001))
    for spelling in ("tail-mode", "tailMode"):
        assert text(**{spelling: "true"}) == "".join(f"{number}\n" for number in range(4001, 5001))


def test_the_log_of_a_running_task_is_read_too(owner: PaiClient) -> None:
    name = unique("running")
    ok(owner.submit(job_file(name, "echo begun", "exec tail -f /dev/null")), 202)
    owner.wait(name, "RUNNING")
    uri = ok(owner.get(owner.job(name, LOGS.format(0))))["locations"][0]["uri"]
    text = ""
    while text != "begun\n":
        text = fetch(uri).text
    ok(owner.put(owner.job(name, "/executionType"), {"value": "STOP"}), 202)


def test_a_link_opens_nothing_else(owner: PaiClient) -> None:
    name = ran(owner, "true", instances=2)
    uri = ok(owner.get(owner.job(name, LOGS.format(0))))["locations"][0]["uri"]

    for changed in (
        uri.replace("worker.0", "worker.1"),
        uri.replace(f"user={owner.user}", "user=root"),
        uri.replace("tail=false", "tail=true"),
        uri.replace("expires=", "expires=9"),
        uri[:-1] + ("0" if uri[-1] != "0" else "1"),
    ):
        assert changed != uri
        refused(fetch(changed), 403, "ForbiddenUserError")


def test_a_link_ends_with_the_rights_of_its_user(pai_people: People) -> None:
    user = new_user(pai_people.admin, "pai")
    client = PaiClient(pai_people.server, user.name, user.token)
    name = ran(client, "true")
    uri = ok(client.get(client.job(name, LOGS.format(0))))["locations"][0]["uri"]
    assert fetch(uri).status_code == 200

    assert pai_people.admin.send("PATCH", f"/users/{user.name}", json={"disabled": True}).status_code == 200

    refused(fetch(uri), 403, "ForbiddenUserError")


def test_only_the_owner_and_admins_read_logs(owner: PaiClient, other: PaiClient, admin: PaiClient) -> None:
    name = ran(owner, "true")
    refused(other.get(owner.job(name, LOGS.format(0))), 403, "ForbiddenUserError")
    ok(admin.get(owner.job(name, LOGS.format(0))))


@pytest.mark.parametrize(
    ("rest", "status", "code"),
    [
        ("/attempts/0/taskRoles/worker/taskIndex/7/attempts/0/logs", 404, "NoTaskLogError"),
        ("/attempts/0/taskRoles/ps/taskIndex/0/attempts/0/logs", 404, "NoTaskLogError"),
        ("/attempts/0/taskRoles/worker/taskIndex/0/attempts/1/logs", 404, "NoTaskLogError"),
        ("/attempts/1/taskRoles/worker/taskIndex/0/attempts/0/logs", 404, "NoJobError"),
        ("/attempts/0/taskRoles/worker/taskIndex/x/attempts/0/logs", 400, "InvalidParametersError"),
    ],
)
def test_a_log_that_is_not_there_is_refused(owner: PaiClient, rest: str, status: int, code: str) -> None:
    refused(owner.get(owner.job(ran(owner, "true"), rest)), status, code)


def test_a_task_has_one_try_in_each_try_of_its_job(owner: PaiClient) -> None:
    name = ran(owner, "exit 7")

    found = ok(owner.get(owner.job(name, "/attempts/0/taskRoles/worker/taskIndex/0/attempts")))

    assert (found["taskRoleName"], found["taskIndex"], found["taskState"]) == ("worker", 0, "FAILED")
    assert (found["jobName"], found["jobAttemptId"]) == (name, 0)
    assert [one["attemptId"] for one in found["attempts"]] == [0]
    assert found["attempts"][0]["containerExitSpec"]["code"] == 255
    assert "exit code was 7" in found["attempts"][0]["containerExitDiagnostics"]


def test_events_tell_what_happened(owner: PaiClient) -> None:
    name = ran(owner, "exit 7")

    found = ok(owner.get(owner.job(name, "/events")))
    warnings = ok(owner.get(owner.job(name, "/events"), type="Warning"))

    assert found["totalCount"] == len(found["data"])
    assert {"JobQueued", "JobFailed", "TaskFailed"} <= {event["reason"] for event in found["data"]}
    task = next(event for event in found["data"] if event["reason"] == "TaskFailed")
    assert (task["taskroleName"], task["taskIndex"], task["type"]) == ("worker", 0, "Warning")
    assert {event["type"] for event in warnings["data"]} == {"Warning"}
    refused(owner.get(owner.job(name, "/events"), type="Odd"), 400, "InvalidParametersError")


def test_a_job_has_no_ssh_of_its_own(owner: PaiClient) -> None:
    refused(owner.get(owner.job(ran(owner, "true"), "/ssh")), 404, "NoJobSshInfoError")
