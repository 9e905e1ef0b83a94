"""OpenPAI's own JavaScript SDK, on which its VS Code extension is built, against a server of Muster."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.openpai_api.client import fetch
from tests.integration.api.people import PASSWORD, People, new_user, unique

FOLDER = Path(__file__).parents[3] / ".cache" / "openpai-sdk"
SCRIPT = Path(__file__).with_name("sdk_calls.js")


@pytest.fixture(scope="module")
def answers(pai_people: People) -> Any:
    node = shutil.which("node")
    if node is None or not (FOLDER / ".version").exists():
        pytest.skip("the SDK is not installed: run scripts/install-openpai-sdk.sh")
    user, name = new_user(pai_people.admin, "sdk"), unique("sdk")
    command = [node, str(SCRIPT), str(FOLDER), pai_people.server.url, user.name, PASSWORD, name]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    return {"job": name, "username": user.name, **json.loads(ran.stdout)}


def test_every_call_of_the_sdk_is_answered(answers: Any) -> None:
    refused = {what: answer["refused"] for what, answer in answers.items() if "refused" in answer}
    assert set(refused) == {"again", "missing", "wrong"}
    assert "already" in refused["again"]
    assert "no job" in refused["missing"]
    assert "password" in refused["wrong"]


def test_the_sdk_sees_its_job(answers: Any) -> None:
    assert answers["ended"]["jobStatus"]["state"] == "SUCCEEDED"
    assert answers["attempt"]["jobStatus"]["attemptId"] == 0
    assert [one["name"] for one in answers["listed"]["data"]] == [answers["job"]]
    assert answers["listed"]["totalCount"] == 1
    assert answers["config"]["name"] == answers["job"]
    assert answers["task"]["attempts"][0]["containerExitCode"] == 0
    assert answers["history"][0]["isLatest"] is True
    assert fetch(answers["logs"]["locations"][0]["uri"]).text == "said by the SDK\n"


def test_the_sdk_sees_its_user_and_clusters(answers: Any) -> None:
    assert answers["user"]["username"] == answers["username"]
    assert [user["username"] for user in answers["users"]] == [answers["username"]]
    assert "default" in answers["clusters"]
    assert answers["cluster"]["status"] == "RUNNING"
    assert answers["application"]["application"] is True
