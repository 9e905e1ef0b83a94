"""Secrets of a job file on a real server: sealed, masked, bound to their job, and copied to jobs made from it."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer

VALUE = "correct-horse-battery"
JOB = f"""\
protocolVersion: 2
name: pai-with-secret
type: job
secrets: {{token: {VALUE}}}
parameters: {{word: hello}}
taskRoles:
  worker:
    resourcePerInstance: {{cpu: 0.25, memoryMB: 64, gpu: 0}}
    commands:
      - test -n "<% $secrets.token %>"
      - echo "<% $parameters.word %> <% $secrets.token %>"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path


@pytest.fixture(autouse=True)
def _gone_afterwards(muster_server: MusterServer) -> Iterator[None]:
    yield
    listed = muster_server.json("get", "jobs", "--all")["items"]
    for job in listed:
        if job["name"] == "pai-with-secret":
            muster_server.run("kill", job["id"])
            muster_server.run("wait", job["id"])
            muster_server.run("delete", "-y", job["id"])


def submitted(server: MusterServer, file: Path, *words: str) -> dict[str, Any]:
    ran = server.run("submit", str(file), *words, "-o", "json")
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def retried(server: MusterServer, job: str) -> Any:
    again = server.json("retry", job)
    [made] = again.get("items", [again])
    server.run("wait", made["id"])
    return next(one for one in server.json("get", "jobs", "--all")["items"] if one["id"] == made["id"])


def kept(server: MusterServer, job: str) -> list[str]:
    """The names of the secrets that the store has for the job."""
    with sqlite3.connect(f"file:{server.home / 'muster.db'}?mode=ro", uri=True) as database:
        found = database.execute("select name from secrets where name like ?", (f"{job}.%",)).fetchall()
    return [row[0] for row in found]


def test_task_gets_the_value_and_nobody_else_sees_it(muster_server: MusterServer, file: Path) -> None:
    job = submitted(muster_server, file, "--wait")

    assert job["state"] == "Succeeded"
    log = muster_server.run("logs", job["id"]).stdout
    assert f"hello {'*' * len(VALUE)}\n" in log
    shown = [muster_server.run(*words, job["id"]).stdout for words in (("get", "-o", "yaml", "jobs"), ("describe",))]
    shown += [muster_server.run("get", "secrets").stdout, muster_server.run("events", job["id"]).stdout]
    shown += [muster_server.run("submit", str(file), "--dry-run", "-o", "json", "--name", "another").stdout]
    assert not [text for text in (log, *shown) if VALUE in text]
    assert job["id"] not in muster_server.run("get", "secrets").stdout
    stored = [path for path in muster_server.home.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()]
    assert stored == []
    assert kept(muster_server, job["id"]) == [f"{job['id']}.openpai.1-token"]


def test_job_that_is_made_from_another_has_secrets_of_its_own(muster_server: MusterServer, file: Path) -> None:
    first = submitted(muster_server, file, "--wait")
    second = retried(muster_server, first["id"])
    muster_server.run("delete", "-y", first["id"], check=True)

    assert kept(muster_server, first["id"]) == []
    third = retried(muster_server, second["id"])
    assert third["state"] == "Succeeded"
    assert kept(muster_server, third["id"]) == [f"{third['id']}.openpai.1-token"]


def test_waiting_job_keeps_its_secrets_when_it_is_changed(muster_server: MusterServer, file: Path) -> None:
    job = submitted(muster_server, file, "--hold")
    muster_server.run("change", job["id"], "--param", "word=changed", check=True)
    muster_server.run("resume", job["id"], check=True)
    muster_server.run("wait", job["id"])

    assert f"changed {'*' * len(VALUE)}\n" in muster_server.run("logs", job["id"]).stdout


def test_file_with_secrets_is_no_template(muster_server: MusterServer, file: Path) -> None:
    refused = muster_server.run("template", "publish", "pai-template", str(file))

    assert refused.returncode != 0
    assert "secrets" in refused.stderr
    assert VALUE not in refused.stdout + refused.stderr
