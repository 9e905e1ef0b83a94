"""Submitting a job, its details, its tries, its file, and stopping it."""

import pytest
import yaml

from muster.server.compatibility.openpai.kept_files import MASK
from tests.conformance.openpai_api.client import PaiClient, fetch, job_file, ok, refused
from tests.integration.api.people import People, unique


def test_a_job_is_submitted_and_runs(owner: PaiClient) -> None:
    name = unique("hello")
    text = job_file(name, "echo hello from $PAI_TASK_INDEX", instances=2)

    answer = owner.submit(text)

    assert f"{owner.user}~{name}" in ok(answer, 202)["message"]
    found = owner.wait(name)
    status = found["jobStatus"]
    assert (found["name"], status["username"], status["state"]) == (name, owner.user, "SUCCEEDED")
    assert (status["executionType"], status["retries"], status["attemptId"]) == ("START", 0, 0)
    assert (status["appExitCode"], status["appExitType"]) == (0, "USER_SUCCESS")
    assert status["appExitSpec"]["phrase"] == "Succeeded"
    assert status["createdTime"] <= status["appLaunchedTime"] <= status["completedTime"]
    assert status["createdTime"] > 1_600_000_000_000, "times are in milliseconds"
    tasks = found["taskRoles"]["worker"]["taskStatuses"]
    assert found["taskRoles"]["worker"]["taskRoleStatus"] == {"name": "worker"}
    assert [task["taskIndex"] for task in tasks] == [0, 1]
    assert {task["taskState"] for task in tasks} == {"SUCCEEDED"}
    assert {task["containerExitCode"] for task in tasks} == {0}
    assert all(task["containerNodeName"] and task["containerIp"] for task in tasks)


def test_ports_are_shown_under_the_labels_by_which_the_task_knows_them(owner: PaiClient) -> None:
    name = unique("ports")
    lists = "echo $PAI_PORT_LIST_worker_0_http $PAI_PORT_LIST_worker_0_tensorboard"
    text = job_file(name, lists).replace("gpu: 0", "gpu: 0, ports: {tensorboard: 2}")

    task = owner.ran(text, name)["taskRoles"]["worker"]["taskStatuses"][0]

    ports = task["containerPorts"]
    assert set(ports) == {"http", "ssh", "tensorboard"}
    location = ok(owner.get(owner.job(name, "/attempts/0/taskRoles/worker/taskIndex/0/attempts/0/logs")))
    assert fetch(location["locations"][0]["uri"]).text == f"{ports['http']} {ports['tensorboard']}\n"
    assert len(ports["tensorboard"].split(",")) == 2


def test_the_file_is_answered_as_it_was_submitted(owner: PaiClient) -> None:
    name = unique("config")
    text = job_file(name, "true", extra={"description": "a file with a comment"})
    owner.ran(text, name)

    answer = owner.get(owner.job(name, "/config"))

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/yaml")
    assert answer.text == text


def test_a_secret_reaches_the_task_and_is_never_answered(owner: PaiClient) -> None:
    name, value = unique("secret"), "hunter2-hunter2"
    check = 'test "<% $secrets.token %>" = "$(echo hunter2-zzz | sed s/zzz/hunter2/)"'

    found = owner.ran(job_file(name, check, extra={"secrets": f"{{token: {value}}}"}), name)

    assert found["jobStatus"]["state"] == "SUCCEEDED"
    config = owner.get(owner.job(name, "/config")).text
    assert yaml.safe_load(config)["secrets"] == {"token": MASK}
    for text in (config, str(found), owner.get(owner.job(name, "/events")).text):
        assert value not in text


def test_a_job_of_muster_has_no_file_of_openpai(owner: PaiClient) -> None:
    name = unique("own")
    _, made = owner.server.call("POST", "/api/v1/jobs", {"spec": {"name": name, "command": "true"}}, token=owner.token)
    assert made["name"] == name

    refused(owner.get(owner.job(name, "/config")), 404, "NoJobConfigError")
    assert owner.wait(name)["jobStatus"]["state"] == "SUCCEEDED"


def test_a_name_is_never_used_twice_by_one_user(owner: PaiClient, other: PaiClient) -> None:
    name = unique("once")
    owner.ran(job_file(name, "true"), name)

    refused(owner.submit(job_file(name, "true")), 409, "ConflictJobError")
    ok(other.submit(job_file(name, "true")), 202)


def test_a_name_that_muster_has_given_twice_means_the_newest_job(owner: PaiClient) -> None:
    name = unique("twice")
    owner.ran(job_file(name, "exit 4"), name)
    assert owner.detail(name)["jobStatus"]["state"] == "FAILED"
    owner.server.call("POST", f"/api/v1/jobs/{name}/retry", token=owner.token)
    spec = {"name": unique("x"), "command": "true"}
    owner.server.call("POST", "/api/v1/jobs", {"spec": spec}, token=owner.token)

    first, second = (owner.detail(name)["debugId"], owner.wait(name)["debugId"])

    assert first == second
    assert len([one for one in ok(owner.get("/jobs", username=owner.user)) if one["name"] == name]) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("protocolVersion: 2\nname: a\ntype: job\n", "taskRoles"),
        ("protocolVersion: 3\nname: a\n", "protocol"),
        ("name: a\ncommand: 'true'\n", "not an OpenPAI job"),
        ("[1, 2]", "not an OpenPAI job"),
        ("a: [", "YAML"),
        ("", "not an OpenPAI job"),
    ],
)
def test_a_file_that_is_no_job_of_openpai_is_refused(owner: PaiClient, text: str, said: str) -> None:
    assert said in refused(owner.submit(text), 400, "InvalidProtocolError")


def test_text_that_is_not_utf_8_is_refused(owner: PaiClient) -> None:
    refused(owner.send("POST", "/api/v2/jobs", content=b"\xff\xfe"), 400, "InvalidProtocolError")


def test_every_problem_is_in_the_message_with_its_line(owner: PaiClient) -> None:
    text = job_file(unique("bad"), "true").replace("gpu: 0", "gpu: many").replace("instances: 1", "instance: 1")

    said = refused(owner.submit(text), 400, "InvalidProtocolError")

    assert "instance" in said
    assert "line" in said


def test_an_unknown_virtual_cluster_is_forbidden(owner: PaiClient) -> None:
    text = job_file(unique("vc"), "true", extra={"defaults": "{virtualCluster: nowhere}"})
    assert "nowhere" in refused(owner.submit(text), 403, "ForbiddenUserError")


def test_an_unknown_storage_is_not_there(owner: PaiClient) -> None:
    text = job_file(unique("storage"), "true", extra={"extras": "{storages: [{name: nothing, mountPath: /data}]}"})
    assert "nothing" in refused(owner.submit(text), 404, "NoStorageError")


def test_warnings_are_told(owner: PaiClient) -> None:
    name = unique("warned")
    text = job_file(name, "true", extra={"extras": "{jobStatusChangeNotification: {failed: true}}"})

    answer = owner.submit(text)

    assert "jobStatusChangeNotification" in ok(answer, 202)["message"]
    assert "jobStatusChangeNotification" in answer.headers["Muster-Warning"]


def test_a_failed_job_says_why(owner: PaiClient) -> None:
    name = unique("fails")

    status = owner.ran(job_file(name, "exit 3"), name)["jobStatus"]

    assert (status["state"], status["appExitCode"], status["appExitType"]) == ("FAILED", 255, "UNKNOWN_FAILURE")
    assert (status["appExitTriggerTaskRoleName"], status["appExitTriggerTaskIndex"]) == ("worker", 0)
    assert "exit code 3" in status["appExitDiagnostics"]
    assert status["appExitMessages"]["runtime"]["originUserExitCode"] == 3
    assert status["appExitSpec"]["reaction"] == "RETRY_TO_MAX"


def test_others_see_a_job_but_not_why_it_failed(owner: PaiClient, other: PaiClient) -> None:
    name = unique("theirs")
    owner.ran(job_file(name, "exit 3"), name)

    found = ok(other.get(owner.job(name)))

    assert found["jobStatus"]["state"] == "FAILED"
    assert found["jobStatus"]["appExitDiagnostics"] is None
    assert found["jobStatus"]["appExitSpec"]["reason"] == ""
    assert found["taskRoles"]["worker"]["taskStatuses"][0]["containerExitDiagnostics"] is None
    refused(other.get(owner.job(name, "/config")), 403, "ForbiddenUserError")


def test_each_try_of_a_job_is_kept(owner: PaiClient) -> None:
    name = unique("tries")
    status = owner.ran(job_file(name, "exit 3", extra={"jobRetryCount": 1}), name)["jobStatus"]
    assert (status["retries"], status["retryDetails"]["user"], status["attemptId"]) == (1, 1, 1)

    first, last = (ok(owner.get(owner.job(name, f"/attempts/{index}"))) for index in (0, 1))
    listed = ok(owner.get(owner.job(name, "/job-attempts")))

    assert [one["jobStatus"]["attemptId"] for one in (first, last)] == [0, 1]
    assert first["jobStatus"]["attemptState"] == "FAILED"
    assert first["taskRoles"]["worker"]["taskStatuses"][0]["containerExitCode"] == 255
    assert [one["attemptIndex"] for one in listed] == [0, 1]
    assert [one["isLatest"] for one in listed] == [False, True]
    assert [one["exitCode"] for one in listed] == [255, 255]
    assert ok(owner.get(owner.job(name, "/job-attempts/0"))) == listed[0]
    ok(owner.get(owner.job(name, "/job-attempts/healthz")))
    refused(owner.get(owner.job(name, "/attempts/2")), 404, "NoJobError")
    refused(owner.get(owner.job(name, "/attempts/first")), 400, "InvalidParametersError")


def test_a_job_is_stopped(owner: PaiClient, other: PaiClient) -> None:
    name = unique("stopped")
    ok(owner.submit(job_file(name, "exec tail -f /dev/null")), 202)
    owner.wait(name, "RUNNING")
    stop = owner.job(name, "/executionType")

    refused(other.put(stop, {"value": "STOP"}), 403, "ForbiddenUserError")
    refused(owner.put(stop, {"value": "PAUSE"}), 400, "InvalidParametersError")
    refused(owner.put(stop, {}), 400, "InvalidParametersError")
    ok(owner.put(stop, {"value": "START"}), 202)
    assert owner.detail(name)["jobStatus"]["executionType"] == "START"
    ok(owner.put(stop, {"value": "STOP"}), 202)

    status = owner.wait(name)["jobStatus"]
    assert (status["state"], status["executionType"]) == ("STOPPED", "STOP")
    assert (status["appExitCode"], status["appExitType"]) == (-210, "USER_STOP")
    task = owner.detail(name)["taskRoles"]["worker"]["taskStatuses"][0]
    assert (task["taskState"], task["containerExitCode"]) == ("STOPPED", -210)
    ok(owner.put(stop, {"value": "STOP"}), 202)


def test_admins_stop_jobs_of_others(owner: PaiClient, admin: PaiClient) -> None:
    name = unique("stopped")
    ok(owner.submit(job_file(name, "exec tail -f /dev/null")), 202)
    ok(admin.put(owner.job(name, "/executionType"), {"value": "STOP"}), 202)
    assert owner.wait(name)["jobStatus"]["state"] == "STOPPED"


@pytest.mark.parametrize("name", ["nobody~nothing", "nothing", "~", "~nothing", "a~"])
def test_a_job_that_is_not_there_is_refused(owner: PaiClient, name: str) -> None:
    for answer in (
        owner.get(f"/jobs/{name}"),
        owner.get(f"/jobs/{name}/config"),
        owner.get(f"/jobs/{name}/attempts/0"),
        owner.put(f"/jobs/{name}/executionType", {"value": "STOP"}),
    ):
        refused(answer, 404, "NoJobError")


def test_a_private_job_is_not_there_for_others(private_pai_people: People) -> None:
    people = private_pai_people
    mine = PaiClient(people.server, people.owner.name, people.owner.token)
    theirs = PaiClient(people.server, people.other.name, people.other.token)
    name = unique("private")
    mine.ran(job_file(name, "true"), name)

    said = refused(theirs.get(mine.job(name)), 404, "NoJobError")

    assert said == refused(theirs.get(mine.job(name)), 404, "NoJobError")
    assert name not in str(ok(theirs.get("/jobs")))
    assert ok(theirs.get("/jobs", username=mine.user)) == []
    assert name in [one["name"] for one in ok(mine.get("/jobs"))]


@pytest.mark.parametrize("path", ["/jobs/a~%00", "/jobs?username=%00", "/users/%00", "/storages/%00"])
def test_a_nul_is_in_no_name(owner: PaiClient, path: str) -> None:
    refused(owner.send("GET", f"/api/v2{path}"), 400, "InvalidParametersError")


def test_paths_that_openpai_does_not_have_are_no_api(owner: PaiClient) -> None:
    refused(owner.get("/nonsense"), 404, "NoApiError")
    refused(owner.send("PATCH", "/api/v2/jobs"), 404, "NoApiError")
    assert "muster users" in refused(owner.send("POST", "/api/v2/users", json={}), 501, "NotImplementedError")
    refused(owner.get("/alerts"), 501, "NotImplementedError")


def test_the_api_of_muster_is_as_it_was(owner: PaiClient) -> None:
    _, listed = owner.server.call("GET", "/api/v1/jobs", token=owner.token)
    assert set(listed) == {"items", "nextCursor"}
    _, document = owner.server.call("GET", "/openapi.json")
    paths = document["paths"]
    assert not [
        path for path in paths if "/api/v2" in path or "rest-server" in path or path.startswith("/api/v1/user/")
    ]
