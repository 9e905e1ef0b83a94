"""Calls as OpenPAI's clients make them: the Python SDK, the JavaScript SDK below VS Code, and people with curl."""

import json
from collections.abc import Mapping
from typing import Any

import httpx

from tests.parts.server import MusterServer, polls

PROXY = "/rest-server"
"""OpenPAI's proxy, which its clients go through."""
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


class PaiClient:
    """One person with a token, or nobody."""

    def __init__(self, server: MusterServer, user: str = "", token: str = "", root: str = PROXY) -> None:
        self.server = server
        self.user = user
        self.token = token
        self._root = root

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= options.pop("headers", {})
        return httpx.request(method, f"{self.server.url}{self._root}{path}", headers=headers, timeout=60, **options)

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.send("GET", f"/api/v2{path}", params=query)

    def put(self, path: str, body: Any) -> httpx.Response:
        return self.send("PUT", f"/api/v2{path}", json=body)

    def delete(self, path: str, body: Any = None) -> httpx.Response:
        return self.send("DELETE", f"/api/v2{path}", json=body)

    def submit(self, text: str) -> httpx.Response:
        return self.send("POST", "/api/v2/jobs", content=text.encode(), headers={"Content-Type": "text/yaml"})

    def job(self, name: str, rest: str = "") -> str:
        return f"/jobs/{self.user}~{name}{rest}"

    def detail(self, name: str) -> Any:
        return ok(self.get(self.job(name)))

    def wait(self, name: str, *states: str) -> Any:
        """The details of the job once it is in one of the states, or has ended."""
        found: Any = None
        for _ in polls(60):
            found = self.detail(name)
            if found["jobStatus"]["state"] in (states or ENDED):
                return found
        raise AssertionError(f"{name} is not {states or ENDED}: {found}")

    def ran(self, text: str, name: str) -> Any:
        ok(self.submit(text), 202)
        return self.wait(name)


def fetch(uri: str, **headers: str) -> httpx.Response:
    """Opens a link, without a token."""
    return httpx.get(uri, headers=headers, timeout=60)


def ok(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
    return answer.json()


def refused(answer: httpx.Response, status: int, code: str) -> str:
    """The message of a refusal, which must have OpenPAI's form and nothing else."""
    assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
    body = answer.json()
    assert set(body) == {"code", "message"}, body
    assert body["code"] == code, body
    return str(body["message"])


def job_file(name: str, *commands: str, instances: int = 1, extra: Mapping[str, Any] | None = None) -> str:
    """A job of protocol 2 with one role, without an image, as it runs on a machine without containers."""
    lines = "".join(f"      - {json.dumps(command)}\n" for command in commands)
    more = "".join(f"{key}: {value}\n" for key, value in (extra or {}).items())
    return f"""\
# submitted by a test
protocolVersion: 2
name: {name}
type: job
{more}taskRoles:
  worker:
    instances: {instances}
    resourcePerInstance: {{cpu: 0.25, memoryMB: 64, gpu: 0}}
    commands:
{lines}"""
