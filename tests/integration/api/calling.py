"""How these tests talk to the server: as somebody, over HTTP, and to its streams event by event."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.parts.server import MusterServer

NOBODY = ""


@dataclass(frozen=True)
class Sse:
    id: str
    event: str
    data: Any


class Caller:
    """One person (or nobody) at one server."""

    def __init__(self, server: MusterServer, token: str = NOBODY, name: str = "") -> None:
        self.server = server
        self.token = token
        self.name = name

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = self._headers(options.pop("headers", {}))
        return httpx.request(
            method, f"{self.server.url}/api/v1{path}", headers=headers, timeout=60, verify=False, **options
        )

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.send("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.send("POST", path, **options) if body is None else self.send("POST", path, json=body, **options)

    def submit(self, spec: Mapping[str, Any]) -> Any:
        return ok(self.post("/jobs", {"spec": spec}), 201)

    @contextmanager
    def stream(self, path: str, *, after: str | None = None, timeout_s: float = 60.0) -> Iterator[Iterator[Sse]]:
        """The events of a stream as they come."""
        headers = self._headers({"Last-Event-ID": after} if after is not None else {})
        url = f"{self.server.url}/api/v1{path}"
        with httpx.stream("GET", url, headers=headers, timeout=timeout_s, verify=False) as answer:
            if answer.status_code != 200:
                answer.read()
            assert answer.status_code == 200, answer.text
            yield sse_events(answer.iter_lines())

    def _headers(self, given: Mapping[str, str]) -> dict[str, str]:
        return {**({"Authorization": f"Bearer {self.token}"} if self.token else {}), **given}


def sse_events(lines: Iterator[str]) -> Iterator[Sse]:
    fields: dict[str, str] = {}
    for line in lines:
        if not line:
            if "data" in fields:
                yield Sse(fields.get("id", ""), fields.get("event", "message"), json.loads(fields["data"]))
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


def ok(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
    return answer.json() if answer.content else None


def problem(answer: httpx.Response, status: int, code: str) -> Any:
    """The refusal, which must be one of ours."""
    assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
    assert answer.headers["content-type"].startswith("application/problem+json")
    body = answer.json()
    assert body["code"] == code, body
    assert body["status"] == status
    return body
