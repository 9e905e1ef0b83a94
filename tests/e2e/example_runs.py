"""Runs an example through the command line, as its README says, and gathers what a user can see afterwards."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Protocol

EXAMPLES = Path(__file__).parents[2] / "examples"


class MusterServer(Protocol):
    """A running server and the command line that talks to it."""

    def run(self, *arguments: str) -> CompletedProcess[str]: ...

    def json(self, *arguments: str) -> Any: ...


@dataclass(frozen=True)
class ExampleRun:
    state: str
    tasks: Mapping[str, Mapping[str, Any]]
    log: str

    def exit_codes(self, role: str) -> list[int | None]:
        return [task["exitCode"] for task in self.tasks.values() if task["role"] == role]

    def found(self, pattern: str) -> list[Any]:
        """What the pattern's groups matched in the log of all tasks."""
        return re.findall(pattern, self.log)

    def losses(self, who: str) -> list[float]:
        return [float(loss) for loss in self.found(rf"{who} (?:epoch|step) \d+/\d+ loss ([\d.]+)")]


def run_example(server: MusterServer, job_file: Path) -> ExampleRun:
    """Submit, wait for the end, collect. Fails with everything that was printed if the job did."""
    submitted = server.run("submit", str(job_file), "--wait", "-o", "json")
    assert submitted.returncode == 0, f"{submitted.stdout}\n{submitted.stderr}"
    job = json.loads(submitted.stdout)
    log = server.run("logs", job["id"])
    assert log.returncode == 0, log.stderr
    workers = server.json("get", "workers", job["id"])["items"]
    tasks = {f"{task['role']}-{task['index']}": task for task in workers}
    return ExampleRun(job["state"], tasks, log.stdout)
