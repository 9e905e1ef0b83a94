"""A load client over one keep-alive connection, as light as the standard library allows.

Not `muster.Client`: its own CPU would be counted as the server's on a small machine.
"""

import http.client
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.muster.server import Address

FINAL = frozenset({"Succeeded", "Failed", "Cancelled"})


class Refused(RuntimeError):
    """The server answered with an error."""


def job_spec(name: str, script: Path, *arguments: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "command": ["/bin/sh", str(script), *arguments], **more}


def headers(address: Address) -> dict[str, str]:
    return {"Authorization": f"Bearer {address.token}", "Content-Type": "application/json"}


class MusterClient:
    def __init__(self, address: Address) -> None:
        self._connection = http.client.HTTPConnection(address.host, address.port, timeout=120)
        self._headers = headers(address)
        self._connection.connect()

    def close(self) -> None:
        self._connection.close()

    def submit(self, spec: dict[str, Any]) -> dict[str, Any]:
        return dict(self._ask("POST", "/api/v1/jobs", {"spec": spec}))

    def submit_bulk(self, specs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        answer = self._ask("POST", "/api/v1/jobs:bulk", {"specs": list(specs)})
        return list(answer["items"])

    def submit_sweep(self, spec: dict[str, Any]) -> dict[str, Any]:
        return dict(self._ask("POST", "/api/v1/sweeps", {"spec": spec}))

    def sweep(self, sweep_id: str) -> dict[str, Any]:
        return dict(self._ask("GET", f"/api/v1/sweeps/{sweep_id}"))

    def wait(self, job_id: str, deadline_s: int = 60) -> dict[str, Any]:
        for _ in range(deadline_s // 30 + 1):
            job = dict(self._ask("GET", f"/api/v1/jobs/{job_id}/wait?timeout=30"))
            if job["state"] in FINAL:
                return job
        raise TimeoutError(f"job {job_id} is still {job['state']}")

    def report(self, job_id: str, points: Sequence[dict[str, Any]]) -> None:
        self._ask("POST", f"/api/v1/jobs/{job_id}/metrics", {"points": list(points)})

    def experiments(self, path: str) -> dict[str, Any]:
        return dict(self._ask("GET", f"/api/v1/experiments{path}"))

    def page(self, query: str) -> dict[str, Any]:
        return dict(self._ask("GET", f"/api/v1/jobs?{query}"))

    def nodes(self, cluster: str) -> list[dict[str, Any]]:
        found = self._ask("GET", f"/api/v1/nodes?cluster={cluster}")["items"]
        return [node for node in found if node["cluster"] == cluster]

    def kill(self, job_id: str) -> None:
        self._ask("POST", f"/api/v1/jobs/{job_id}/kill", {"grace": "0s"})

    def add_user(self, name: str) -> str:
        """Returns a token of the new user."""
        self._ask("POST", "/api/v1/users", {"name": name})
        return str(self._ask("POST", "/api/v1/tokens", {"name": "bench", "user": name})["secret"])

    def metrics(self) -> str:
        return str(self._ask("GET", "/metrics"))

    def health(self) -> None:
        self._ask("GET", "/healthz")

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        sent = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, sent, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise Refused(f"{method} {path}: {answer.status} {text[:300].decode(errors='replace')}")
        try:
            return json.loads(text)
        except ValueError:
            return text.decode(errors="replace")
