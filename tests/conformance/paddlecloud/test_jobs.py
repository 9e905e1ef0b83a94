"""Jobs as the client submits, lists, reads and kills them, with real processes."""

import os
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.paddlecloud.conftest import Cloud
from tests.conformance.paddlecloud.go_client import GoClient
from tests.integration.api.calling import ok
from tests.parts.server import polls

TRAIN = b"""\
import os, sys
for name in ("PADDLE_INIT_TRAINER_ID", "TRAINERS", "PADDLE_CLOUD_USERNAME", "PADDLE_INIT_PSERVERS"):
    print(name, os.environ[name])
print("module", __import__("beside").WORD)
print("trained")
"""
POD = re.compile(r"-trainer-[bcdfghjklmnpqrstvwxz2456789]{5}$")
TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
SMALL = {"memory": "64Mi", "psmemory": "64Mi"}


@pytest.fixture
def submit(me: GoClient) -> Callable[..., Any]:
    """`paddlecloud submit` of a folder: its files go up one by one, then the job."""

    def submitted(name: str, **arguments: Any) -> Any:
        for file, data in (("train.py", TRAIN), ("beside.py", b"WORD = 'found'\n")):
            assert me.put_file(data, me.home("jobs", name, file)) == {"msg": ""}
        return me.submit(name=name, jobPackage="./package", **{**SMALL, **arguments})

    return submitted


def job_of(me: GoClient, name: str) -> Any:
    """The row of `get jobs`; None if there is none."""
    answer = me.get("/api/v1/jobs/").json()
    found = [item for item in answer["items"] if item["metadata"]["name"] == f"{name}-trainer"]
    return found[0]["status"] if found else None


def until(condition: Callable[[], Any]) -> Any:
    for _ in polls(60):
        if found := condition():
            return found
    raise AssertionError("it has not happened in time")


def workers(me: GoClient, name: str) -> Any:
    return me.get("/api/v1/workers/", jobname=name).json()["items"]


def terminated(worker: Any) -> Any:
    """As the client finds it, which crashes where a key is missing."""
    return worker["status"]["container_statuses"][0]["state"]["terminated"]


def test_a_job_runs_from_the_package_that_was_uploaded_and_is_listed_as_kubernetes_lists_it(
    me: GoClient, submit: Callable[..., Any]
) -> None:
    count = 2 if (os.cpu_count() or 1) >= 4 else 1
    assert submit("mnist", entry="python3 train.py", parallelism=count) == {"code": 200, "msg": ""}
    status = until(lambda: (job_of(me, "mnist") or {}).get("completion_time") and job_of(me, "mnist"))
    assert (status["succeeded"], status["failed"], status["active"]) == (count, None, None)
    assert TIME.fullmatch(status["start_time"])
    assert TIME.fullmatch(status["completion_time"])
    (pservers,) = me.get("/api/v1/pservers/").json()["items"]
    assert pservers["metadata"]["name"] == "mnist-pserver"

    pods = workers(me, "mnist")
    assert len({pod["metadata"]["name"] for pod in pods}) == count
    for pod in pods:
        assert POD.search(pod["metadata"]["name"])
        assert (pod["status"]["phase"], terminated(pod)["exit_code"]) == ("Succeeded", 0)
        assert TIME.fullmatch(pod["status"]["start_time"])

    text = me.logs("mnist", 100)
    names = [pod["metadata"]["name"] for pod in pods]
    assert re.findall(r"^={26}(\S+?)={26}$", text, re.MULTILINE) == names
    assert (text.count("module found"), text.count("trained")) == (count, count)
    assert text.count(f"PADDLE_CLOUD_USERNAME {me.user}") == count
    assert {f"PADDLE_INIT_TRAINER_ID {place}" for place in range(count)} <= set(text.splitlines())
    one = me.logs("mnist", 1, names[-1])
    assert one == "trained\n"
    assert me.logs("mnist", 10, "mnist-trainer-zzzzz") == "job mnist has no worker mnist-trainer-zzzzz"


def test_the_exit_code_of_a_failed_trainer_is_told_with_paddleclouds_words(
    me: GoClient, submit: Callable[..., Any]
) -> None:
    submit("broken", entry="exit 136")
    until(lambda: (job_of(me, "broken") or {}).get("failed"))
    (worker,) = workers(me, "broken")
    assert worker["status"]["phase"] == "Failed"
    assert terminated(worker)["exit_code"] == 136
    assert "Floating Point Exception" in terminated(worker)["message"]
    status = until(lambda: (job_of(me, "broken") or {}).get("active") is None and job_of(me, "broken"))
    assert (status["succeeded"], status["failed"], status["completion_time"]) == (None, 1, None)


def test_a_killed_job_leaves_the_list_and_its_name_is_free_when_it_has_ended(
    me: GoClient, cloud: Cloud, submit: Callable[..., Any]
) -> None:
    submit("long", entry="trap '' TERM; echo ready; sleep 600 & wait; sleep 600")
    until(lambda: "ready" in me.logs("long"))
    assert job_of(me, "long")["active"] == 1
    assert "already exists" in submit("long", entry="true")["msg"]
    assert me.kill("long") == {"code": 200, "msg": ""}
    answer = me.get("/api/v1/jobs/").json()
    assert job_of(me, "long") is None
    if answer["terminating"]:
        assert answer["terminating"] == ["long"]
        assert "terminating" in submit("long", entry="true")["msg"]
        assert workers(me, "long")
    until(lambda: not me.get("/api/v1/jobs/").json()["terminating"])
    assert submit("long", entry="true")["msg"] == ""
    until(lambda: (job_of(me, "long") or {}).get("succeeded"))
    kinds = [event["kind"] for event in ok(cloud.own(me).get("/events", params={"kind": "audit.job."}))["items"]]
    assert kinds.count("audit.job.kill") == 1


def test_trainingjobs_are_jobs_and_can_be_deleted(me: GoClient, submit: Callable[..., Any]) -> None:
    me.put_file(b"", me.home("jobs", "tj", "train.py"))
    body = {"name": "tj", "entry": "echo ready; sleep 600", "datacenter": "local", "jobPackage": "x", **SMALL}
    assert me.post("/api/v1/trainingjobs/", body).json() == {"code": 200, "msg": ""}
    (listed,) = me.get("/api/v1/trainingjobs/").json()["items"]
    assert listed["metadata"]["name"] == "tj-trainer"
    assert me.delete("/api/v1/trainingjobs/", {"jobname": "tj"}).json() == {"code": 200, "msg": ""}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"entry": "", "topology": ""}, "no topology or entry specified"),
        ({"datacenter": ""}, "no datacenter specified"),
        ({"datacenter": "nowhere"}, "nowhere"),
        ({"jobPackage": "/pfs/local/home/somebody@else/x"}, "unauthorized"),
        ({"jobPackage": "/pfs/local/public/absent"}, "package not exist in cloud"),
        ({"name": "never-uploaded"}, "package not exist in cloud: /pfs/local/home/"),
        ({"faulttolerant": True}, "etcd"),
        ({"name": "not a name"}, "name"),
        ({"parallelism": 100000}, "parallelism"),
        ({"roles": {"worker": {"command": "true"}}}, "'roles' is no argument"),
    ],
)
def test_what_cannot_be_run_is_refused_in_msg_with_the_true_cause(
    me: GoClient, arguments: dict[str, Any], said: str
) -> None:
    me.put_file(b"", me.home("jobs", "paddle-cluster-job", "train.py"))
    answer = me.submit(**{"jobPackage": "./x", "entry": "true", **SMALL, **arguments})
    assert said in answer["msg"]
    assert me.get("/api/v1/jobs/").json()["items"] == []


def test_people_see_and_kill_only_their_own_jobs_also_if_they_are_admins(
    me: GoClient, cloud: Cloud, submit: Callable[..., Any]
) -> None:
    submit("mine", entry="echo secret; sleep 600")
    until(lambda: "secret" in me.logs("mine"))
    admin = GoClient(cloud.server, "admin", "", token=cloud.server.token)
    for other in (cloud.person(), admin):
        assert all(item["metadata"]["name"] != "mine-trainer" for item in other.get("/api/v1/jobs/").json()["items"])
        assert workers(other, "mine") == []
        assert "secret" not in other.logs("mine")
        assert other.kill("mine")["code"] != 200
    assert job_of(me, "mine")["active"] == 1
    assert me.kill("mine")["code"] == 200
    assert me.kill("never-there")["code"] != 200
    assert me.kill("")["msg"] == "must specify jobname"


def test_jobs_of_muster_are_listed_too(me: GoClient, cloud: Cloud) -> None:
    own = cloud.own(me)
    own.submit({"name": "own", "command": "echo from muster", "replicas": 2})
    until(lambda: (job_of(me, "own") or {}).get("succeeded") == 2)
    names = [pod["metadata"]["name"] for pod in workers(me, "own")]
    line = "=" * 26
    assert me.logs("own") == "".join(f"{line}{name}{line}\nfrom muster\n" for name in names)
    assert me.get("/api/v1/pservers/").json()["items"] == []


def test_quota_has_a_text_for_each_resource(me: GoClient) -> None:
    (item,) = me.get("/api/v1/quota/").json()["items"]
    hard = item["status"]["hard"]
    assert set(hard) == {"requests.cpu", "requests.memory", "alpha.kubernetes.io/nvidia-gpu", "pods"}
    assert all(isinstance(limit, str) and limit for limit in hard.values())


def test_registries_are_kept_as_secrets_and_never_shown(me: GoClient, cloud: Cloud) -> None:
    body = {"name": "pcloud-registry-mine", "username": "u", "password": "p4ssword", "server": "registry.example.org"}
    assert me.post("/api/v1/registry/", body).json() == {"code": 200, "msg": ""}
    assert "already exists" in me.post("/api/v1/registry/", body).json()["msg"]
    listed = me.get("/api/v1/registry/")
    (item,) = listed.json()["msg"]["items"]
    assert item["metadata"]["name"] == "pcloud-registry-mine"
    assert TIME.fullmatch(item["metadata"]["creation_timestamp"])
    assert b"p4ssword" not in listed.content
    own = cloud.own(me)
    assert [secret["name"] for secret in ok(own.get("/secrets"))["items"]] == ["pcloud-registry-mine"]
    ok(own.send("PUT", "/secrets/another", content=b"kept"), 201)
    assert "no registry" in me.delete("/api/v1/registry/", {"name": "another"}).json()["msg"]
    assert cloud.person().get("/api/v1/registry/").json()["msg"]["items"] == []
    assert me.delete("/api/v1/registry/", {**body, "username": "", "password": "", "server": ""}).json()["msg"] == ""
    assert [secret["name"] for secret in ok(own.get("/secrets"))["items"]] == ["another"]
    assert "needs" in me.post("/api/v1/registry/", {**body, "password": ""}).json()["msg"]
