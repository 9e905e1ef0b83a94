"""The commands of paddlecloud's client: its tables byte for byte, its flags, and its exit codes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from muster.client import contexts
from tests.conformance.paddlecloud_client.conftest import TOKEN
from tests.unit.cli.calling import Outcome, muster
from tests.unit.client.tiny_server import Answer, TinyServer, a_job, a_task, problem

pytestmark = pytest.mark.fast

NAME = "paddle-cluster-job"


def paddlecloud(*words: str, stdin: str | None = None) -> Outcome:
    return muster(None, "paddlecloud", *words, stdin=stdin)


def with_job(server: TinyServer, tasks: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    job = a_job(name=NAME, **changes)
    server.on("GET", "/jobs", Answer(200, {"items": [job], "nextCursor": None}))
    server.on("GET", f"/jobs/{NAME}", Answer(200, job))
    server.on("GET", f"/jobs/{job['id']}/tasks", Answer(200, {"items": tasks}))
    return job


def task(index: int, **changes: Any) -> dict[str, Any]:
    return {**a_task(index), "state": "Running", "startedAt": f"2017-05-24T07:53:0{index}.250000+00:00", **changes}


def test_get_jobs_prints_the_table_of_the_document(configured: TinyServer) -> None:
    with_job(
        configured,
        [],
        mode="Collective",
        state="Running",
        succeeded=0,
        failed=1,
        active=1,
        startedAt="2017-05-24T09:52:45.999+02:00",
        endedAt=None,
    )

    assert paddlecloud("get", "jobs").out == (
        "NUM\tNAME\tSUCC\tFAIL\tSTART\tCOMP\tACTIVE\n0\tpaddle-cluster-job\t<nil>\t1\t2017-05-24T07:52:45Z\t<nil>\t1\n"
    )


def test_get_jobs_counts_trainers_and_tells_when_a_job_completed(configured: TinyServer) -> None:
    tasks = [task(0, role="ps", state="Stopped"), task(0, state="Succeeded"), task(1, state="Succeeded")]
    times = {"startedAt": "2017-05-24T07:52:45+00:00", "endedAt": "2017-05-24T08:00:00+00:00"}
    with_job(configured, tasks, mode="PS", state="Succeeded", succeeded=2, failed=1, active=0, **times)

    row = paddlecloud("get", "jobs", "-a").out.splitlines()[1]
    assert row == "0\tpaddle-cluster-job\t2\t<nil>\t2017-05-24T07:52:45Z\t2017-05-24T08:00:00Z\t<nil>"


def test_jobs_that_were_killed_are_not_listed(configured: TinyServer) -> None:
    with_job(configured, [], state="Cancelled")
    assert paddlecloud("get", "jobs").out == "NUM\tNAME\tSUCC\tFAIL\tSTART\tCOMP\tACTIVE\n"


def test_get_workers_prints_the_table_of_the_document(configured: TinyServer) -> None:
    with_job(configured, [task(0), task(1), task(2, state="Launching", startedAt=None), task(0, role="ps")])

    said = paddlecloud("get", "workers", NAME)

    assert said.code == 0
    title, *rows = said.out.splitlines()
    assert title == "NAME\tSTATUS\tSTART"
    worker = r"paddle-cluster-job-trainer-[b-z0-9]{5}"
    assert re.fullmatch(rf"{worker}\tRunning\t2017-05-24T07:53:00Z", rows[0])
    assert re.fullmatch(rf"{worker}\tRunning\t2017-05-24T07:53:01Z", rows[1])
    assert re.fullmatch(rf"{worker}\tPending\t<nil>", rows[2])
    assert len(rows) == 3
    assert len({row.split("\t")[0] for row in rows}) == 3


def test_logs_of_all_workers_have_a_heading_each_and_those_of_one_have_none(configured: TinyServer) -> None:
    job = with_job(configured, [task(0), task(1)])
    first, second = (row.split("\t")[0] for row in paddlecloud("get", "workers", NAME).out.splitlines()[1:])
    names = {a_task(index)["name"]: f"line of {index}" for index in (0, 1)}

    def log(asked: Any) -> Answer:
        chosen = asked.query["task"][0]
        told = json.dumps({"task": chosen, "offset": 0, "text": names[chosen]})
        pieces = [f"event: log\ndata: {told}\n\nevent: end\ndata: {{}}\n\n".encode()]
        return Answer(200, pieces=pieces, headers={"Content-Type": "text/event-stream"})

    configured.on("GET", f"/jobs/{job['id']}/logs", log)

    rule = "=" * 26
    assert paddlecloud("logs", NAME).out == f"{rule}{first}{rule}\nline of 0\n{rule}{second}{rule}\nline of 1\n"
    assert configured.requests("GET", f"/jobs/{job['id']}/logs")[-1].query["tail"] == ["10"]
    assert paddlecloud("logs", "-n", "3", "-w", second, NAME).out == "line of 1\n"
    assert configured.requests("GET", f"/jobs/{job['id']}/logs")[-1].query["tail"] == ["3"]
    wrong = paddlecloud("logs", "-w", "nobody", NAME)
    assert (wrong.code, wrong.out) == (1, "")
    assert first in wrong.err


def test_submit_sends_the_request_of_the_original(configured: TinyServer) -> None:
    configured.on("POST", "/jobs", Answer(201, a_job(name="demo")))

    said = paddlecloud("submit", "-jobname", "demo", "-parallelism=2", "-entry", "python train.py", "/pfs/dc/home/li/p")

    assert (said.code, said.out) == (0, "demo submited.\n"), said.err
    sent = configured.requests("POST", "/jobs")[0].json
    assert set(sent) == {"source"}
    assert json.loads(sent["source"]) == {
        "name": "demo",
        "jobPackage": "/pfs/dc/home/li/p",
        "parallelism": 2,
        "cpu": 1,
        "gpu": 0,
        "memory": "1Gi",
        "pservers": 2,
        "pscpu": 1,
        "psmemory": "1Gi",
        "entry": "python train.py",
        "topology": "",
        "passes": 1,
        "image": "",
        "registry": "",
        "minInstance": 1,
        "maxInstance": 1,
        "faulttolerant": False,
        "datacenter": "lab",
    }


def test_a_datacenter_that_no_cluster_is_called_like_is_the_default_cluster(configured: TinyServer) -> None:
    configured.on("POST", "/jobs", Answer(201, a_job(name="demo")))
    assert paddlecloud("submit", "-entry", "e", "/pfs/datacenter1/home/li/p/").code == 0
    sent = json.loads(configured.requests("POST", "/jobs")[0].json["source"])
    assert (sent["jobPackage"], sent["datacenter"]) == ("/pfs/lab/home/li/p", "lab")
    other = paddlecloud("submit", "-entry", "e", "/pfs/elsewhere/home/li/p")
    assert (other.code, "lab, dc" in other.err) == (1, True)


def test_all_flags_of_submit_are_taken_with_one_dash_or_two(configured: TinyServer) -> None:
    configured.on("POST", "/jobs", Answer(201, a_job(name="demo")))
    numbers = {"parallelism": 3, "cpu": 4, "gpu": 1, "pservers": 5, "pscpu": 6, "passes": 7}
    texts = {"memory": "8Gi", "psmemory": "2Gi", "entry": "e", "topology": "t.py", "image": "i:1", "registry": "r"}
    words = [word for name, value in {**numbers, **texts}.items() for word in (f"-{name}", str(value))]
    words += ["--name", "demo", "-min_instance=1", "--max_instance", "9", "-faulttolerant=true"]

    assert paddlecloud("submit", *words, "/pfs/dc/home/li/p").code == 0

    sent = json.loads(configured.requests("POST", "/jobs")[0].json["source"])
    assert sent.items() >= {**numbers, **texts, "name": "demo", "minInstance": 1, "maxInstance": 9}.items()
    assert sent["faulttolerant"] is True


def test_names_and_flags_that_the_original_refuses_are_wrong_usage(configured: TinyServer) -> None:
    for words in (
        ("submit", "-jobname", "a_b", "/pfs/dc/home/li/p"),
        ("submit", "-jobname", "a.b", "/pfs/dc/home/li/p"),
        ("submit", "-cpu", "many", "/pfs/dc/home/li/p"),
        ("submit", "-faulttolerant=perhaps", "/pfs/dc/home/li/p"),
        ("submit",),
        ("get",),
        ("get", "workers"),
        ("frobnicate",),
        ("cp", "/pfs/dc/home/li/a"),
        ("cp", "/pfs/dc/home/li/a", "/pfs/dc/home/li/b"),
        ("registry", "-name", "lab"),
    ):
        assert paddlecloud(*words).code == 2, words
    assert not configured.asked


def test_what_the_server_refuses_is_a_failure(configured: TinyServer) -> None:
    assert paddlecloud("kill", "nobody").code == 1
    assert paddlecloud("get", "workers", "nobody").code == 1


def test_kill_stops_the_job(configured: TinyServer) -> None:
    job = with_job(configured, [])
    configured.on("POST", f"/jobs/{job['id']}/kill", Answer(200, {**job, "state": "Stopping"}))

    assert paddlecloud("kill", "-rm", NAME).code == 0
    assert configured.requests("POST", f"/jobs/{job['id']}/kill")


def test_the_login_of_the_file_is_used_once_and_renewed_when_it_ends(configured: TinyServer, user_home: Path) -> None:
    with_job(configured, [])
    outcomes = [paddlecloud("get", "jobs"), paddlecloud("get", "jobs")]

    assert [asked.json["password"] for asked in configured.requests("POST", "/login")] == ["open sesame"]
    assert configured.asked[-1].headers["Authorization"] == f"Bearer {TOKEN}"
    assert not any(secret in said.err + said.out for said in outcomes for secret in ("sesame", TOKEN))
    assert contexts.load().current is None
    assert contexts.load().known["paddlecloud-datacenter1"].user == "li"

    refused = problem(401, "not-authenticated", "the token has expired")
    configured.on("GET", "/whoami", refused, Answer(200, {"user": "li", "role": "user"}))
    assert paddlecloud("get", "jobs").code == 0
    assert len(configured.requests("POST", "/login")) == 2


def test_another_user_in_the_file_logs_in_anew(configured: TinyServer, user_home: Path) -> None:
    with_job(configured, [])
    paddlecloud("get", "jobs")
    config = user_home / ".paddle" / "config"
    config.write_text(config.read_text().replace("username: li", "username: wang"))
    paddlecloud("get", "jobs")

    assert [asked.json["user"] for asked in configured.requests("POST", "/login")] == ["li", "wang"]


def test_muster_login_makes_a_context_of_the_file(configured: TinyServer) -> None:
    said = muster(None, "login", "--from-paddlecloud")

    assert said.code == 0, said.err
    assert "sesame" not in said.err
    assert contexts.load().current == "datacenter1"
    assert contexts.load().known["datacenter1"].server == configured.url


def test_registries_are_secrets_that_images_are_pulled_with(configured: TinyServer) -> None:
    made = {"kind": "text", "sizeBytes": 9, "updatedAt": None, "createdAt": "2017-05-24T07:52:45+00:00"}
    configured.on("PUT", "/secrets/pcloud-registry-lab", Answer(200, {"name": "x", "owner": "li", **made}))
    secrets = [{"name": name, "owner": "li", **made} for name in ("pcloud-registry-lab", "wandb")]
    configured.on("GET", "/secrets", Answer(200, {"items": secrets}))
    configured.on("DELETE", "/secrets/pcloud-registry-lab", Answer(204))
    words = ("registry", "-name", "lab", "-username", "li", "-server", "registry.example.org")

    stored = paddlecloud(*words, stdin="pass word\n")
    assert stored.code == 0, stored.err
    document = json.loads(configured.requests("PUT", "/secrets/pcloud-registry-lab")[0].body)
    assert document["auths"]["registry.example.org"]["password"] == "pass word"
    assert "pass word" not in stored.out + stored.err
    assert paddlecloud("get", "registry").out == "ID\tNAME\tDATA\n0\tlab\t2017-05-24T07:52:45Z\n"
    assert paddlecloud("delete", "registry", "lab").code == 0


def test_quota_has_a_row_for_each_limit(configured: TinyServer) -> None:
    quota = {"vc": "", "user": "li", "kind": "openJobs", "limit": 100000, "used": 1, "waiting": 0, "jobs": []}
    configured.on("GET", "/quotas", Answer(200, {"items": [quota]}))
    assert paddlecloud("get", "quota").out == "RESOURCE\tLIMIT\nopenJobs\t100000\n"


def test_without_arguments_the_help_is_shown(user_home: Path) -> None:
    said = paddlecloud()
    assert said.code == 0
    for name in ("submit", "get", "logs", "kill", "registry", "delete", "file", "ls", "cp", "rm", "mkdir"):
        assert re.search(rf"^  {name} ", said.out, re.MULTILINE), name
    assert paddlecloud("help", "submit").out.startswith("Usage: muster paddlecloud submit")
    assert "kill\n" in paddlecloud("commands").out
    assert paddlecloud("flags", "submit").out == paddlecloud("help", "submit").out


def test_a_datacenter_without_a_password_is_said(configured: TinyServer, user_home: Path) -> None:
    config = user_home / ".paddle" / "config"
    config.write_text(config.read_text().replace("  password: open sesame\n", ""))
    for said in (paddlecloud("get", "jobs"), muster(None, "login", "--from-paddlecloud")):
        assert said.code == 1
        assert "no username or no password" in said.err
    assert not configured.requests("POST", "/login")
