"""Secrets of two plain users on one server: each uses their own only, and no value is where it does not belong."""

import hashlib
import secrets
import urllib.error
import urllib.request
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer, polls
from tests.security.isolation.conftest import Person, people

SHOWS = 'printf %s "$KEY" | sha256sum; echo "$KEY"; cat "$MUSTER_SECRETS/key"'


@pytest.fixture
def value() -> str:
    return f"hunter2-{secrets.token_hex(12)}"


@pytest.fixture(scope="module")
def bob_and_eve(server: MusterServer) -> tuple[Person, Person]:
    bob, eve = people(server, "secretive-bob", "curious-eve")
    return bob, eve


def put(person: Person, name: str, value: str) -> int:
    headers = {"Authorization": f"Bearer {person.token}", "Content-Type": "application/octet-stream"}
    url = f"{person.server.url}/api/v1/secrets/{name}"
    request = urllib.request.Request(url, value.encode(), headers, method="PUT")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def uses(name: str) -> list[dict[str, str]]:
    return [{"name": name, "env": "KEY"}, {"name": name, "file": "key"}]


def places(server: MusterServer, value: str) -> list[str]:
    """Where the value is found, as it is or in base64: files of the server's home, and arguments of processes."""
    forms = (value.encode(), b64encode(value.encode()))
    files = [path for path in server.home.rglob("*") if path.is_file()]
    read = {str(path): _bytes(path) for path in [*files, *Path("/proc").glob("[0-9]*/cmdline")]}
    return sorted(path for path, content in read.items() if any(form in content for form in forms))


def test_another_user_cannot_use_list_replace_or_remove_a_secret(
    bob_and_eve: tuple[Person, Person], value: str
) -> None:
    bob, eve = bob_and_eve
    assert put(bob, "shared-name", value) == 201
    spec = {"name": "thief", "command": "true", "secrets": uses("shared-name")}
    status, problem = eve.server.call("POST", "/api/v1/jobs", {"spec": spec}, token=eve.token)
    assert (status, problem["problems"][0]["path"]) == (422, "secrets[0].name")
    assert call(eve, "GET", "")[1]["items"] == []
    assert call(eve, "DELETE", f"/shared-name?owner={bob.name}")[0] == 403
    assert call(eve, "DELETE", "/shared-name")[0] == 404
    assert put(eve, "shared-name", "of eve") == 201
    assert hashlib.sha256(value.encode()).hexdigest() in bob.run(SHOWS, secrets=uses("shared-name")).log
    status, dry = bob.server.call(
        "POST", "/api/v1/jobs?dryRun=true", {"spec": {**spec, "name": "dry"}}, token=bob.token
    )
    assert (status, dry["requests"][0]["env"]["KEY"], value in str(dry)) == (200, "***", False)


def test_a_value_is_found_nowhere_but_with_its_task_and_nowhere_after_it(
    bob_and_eve: tuple[Person, Person], value: str
) -> None:
    bob, _ = bob_and_eve
    server = bob.server
    put(bob, "key", value)
    assert places(server, value) == []
    job_id = bob.submit(f"{SHOWS}; touch up; exec sleep 600", secrets=uses("key"))
    task = server.home / "node/tasks" / f"{job_id}.1.worker.0"
    for _ in polls(60):
        if (task / "work/up").exists():
            break
    assert places(server, value) == [str(task / name) for name in ("log", "masked", "secrets/key")]
    server.call("POST", f"/api/v1/jobs/{job_id}/kill", {"grace": "0s"}, token=bob.token)
    server.wait(job_id)
    for _ in polls(60):
        if not places(server, value):
            break
    assert places(server, value) == []
    stars = "*" * len(value)
    assert bob.log(job_id).splitlines()[1:] == [stars, stars]


def test_a_job_fails_clearly_when_its_secret_was_removed(bob_and_eve: tuple[Person, Person], value: str) -> None:
    bob, _ = bob_and_eve
    put(bob, "passing", value)
    job_id = bob.submit("true", secrets=uses("passing"), hold=True, retry={"max": 5})
    assert call(bob, "DELETE", "/passing")[0] == 204
    bob.server.call("POST", f"/api/v1/jobs/{job_id}/resume", token=bob.token)
    job = bob.server.wait(job_id)
    assert (job["state"], job["attempt"]) == ("Failed", 1)
    assert "no secret passing any more" in job["reason"]


def call(person: Person, method: str, rest: str) -> tuple[int, Any]:
    return person.server.call(method, f"/api/v1/secrets{rest}", token=person.token)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
