"""Calls the command as a shell would, against a tiny server."""

import json
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner

from muster.cli.main import cli
from tests.unit.client.tiny_server import Answer, TinyServer, a_job, a_task

ID = a_job()["id"]


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


def muster(server: TinyServer | None, *words: str, stdin: str | None = None) -> Outcome:
    where = ["--server", server.url] if server else []
    result = CliRunner().invoke(cli, [*where, *words], input=stdin, prog_name="muster")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)


def with_job(server: TinyServer, **changes: Any) -> dict[str, Any]:
    """The server knows one job with two workers, by id, by name and as the last one."""
    job = a_job(**changes)
    server.on("GET", "/jobs", Answer(200, {"items": [job], "nextCursor": None}))
    server.on("GET", f"/jobs/{job['name']}", Answer(200, job))
    server.on("GET", f"/jobs/{job['id']}", Answer(200, job))
    server.on("GET", f"/jobs/{job['id']}/tasks", Answer(200, {"items": [a_task(0), a_task(1)]}))
    return job
