"""The cases again, submitted to a real server, which runs them on this machine without their images."""

import json

import pytest

from tests.conformance.openpai.cases import assert_says, case, names
from tests.parts.server import MusterServer

_WITHOUT_IMAGE = ("--set", "runtime.image=null")


@pytest.mark.parametrize("name", names("Succeeded", "Failed", on_server=True))
def test_job_ends_as_openpai_says(muster_server: MusterServer, name: str) -> None:
    given = case(name)
    roles = {task.rpartition("-")[0] for task in given.expected["tasks"]}
    little = [word for role in roles for word in ("--set", f"roles.{role}.resources.cpu=0.1")]
    ran = muster_server.run("submit", str(given.file), *_WITHOUT_IMAGE, *little, "--wait", "-o", "json")

    assert ran.stdout, ran.stderr
    job = json.loads(ran.stdout)
    assert job["state"] == given.outcome, ran.stderr
    tasks = {f"{one['role']}-{one['index']}": one for one in muster_server.json("get", "workers", job["id"])["items"]}
    assert tasks.keys() == given.expected["tasks"].keys()
    for task, wanted in given.expected["tasks"].items():
        if tasks[task]["state"] == "Stopped":
            continue  # a role that has fully succeeded ends the job, and the rest is stopped, as in OpenPAI
        assert tasks[task]["exitCode"] == wanted["exit"]
        log = muster_server.run("logs", job["id"], "-w", task).stdout
        assert_says(log, wanted["says"])
        assert not [text for text in given.silent if text in log]


@pytest.mark.parametrize("name", names("Refused"))
def test_refused_job_is_not_submitted_and_no_secret_is_told(muster_server: MusterServer, name: str) -> None:
    given = case(name)
    refused = muster_server.run("submit", str(given.file))

    said = "".join(f"{refused.stdout}\n{refused.stderr}".split())
    assert refused.returncode != 0
    assert not [key for key in given.expected["problems"] if key not in said]
    assert not [text for text in given.silent if text in said]
