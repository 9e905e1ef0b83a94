"""Runs an example through the command line, as its README says, and gathers what a user can see afterwards."""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Protocol

import yaml

EXAMPLES = Path(__file__).parents[2] / "examples"
INTERPRETER_VARIABLE = "MUSTER_FRAMEWORKS_PYTHON"
_FRAMEWORK_WITHIN_S = 280.0
"""A framework takes a second to import, and a minute on a machine that is busy with other things."""


class MusterServer(Protocol):
    """A running server and the command line that talks to it."""

    def run(self, *arguments: str, timeout_s: float = ...) -> CompletedProcess[str]: ...

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


def run_example(server: MusterServer, job_file: Path, timeout_s: float = 120.0) -> ExampleRun:
    """Submit, wait for the end, collect. Fails with everything that was printed if the job did."""
    submitted = server.run("submit", str(job_file), "--wait", "-o", "json", timeout_s=timeout_s)
    assert submitted.returncode == 0, f"{submitted.stdout}\n{submitted.stderr}"
    job = json.loads(submitted.stdout)
    log = server.run("logs", job["id"])
    assert log.returncode == 0, log.stderr
    workers = server.json("get", "workers", job["id"])["items"]
    tasks = {f"{task['role']}-{task['index']}": task for task in workers}
    return ExampleRun(job["state"], tasks, log.stdout)


def run_with_framework(
    server: MusterServer, name: str, folder: Path, python: Path, env: Mapping[str, str] | None = None, **more: Any
) -> ExampleRun:
    """Run a copy of an example, changed in its interpreter and in where it runs."""
    copy = folder / name
    shutil.copytree(EXAMPLES / name, copy)
    job = yaml.safe_load((copy / "job.yaml").read_text())
    job["env"] |= {INTERPRETER_VARIABLE: str(python), **(env or {})}
    (copy / "job.yaml").write_text(yaml.safe_dump(job | more))
    return run_example(server, copy / "job.yaml", _FRAMEWORK_WITHIN_S)


def assert_ranks_agree(run: ExampleRun) -> None:
    assert run.state == "Succeeded"
    assert run.exit_codes("worker") == [0, 0]
    assert sorted(run.found(r"rank (\d) of 2 sum ([\d.]+)")) == [("0", "3.0"), ("1", "3.0")]
    assert sorted(run.found(r"rank (\d) weights .* identical on all ranks: True, right: True")) == ["0", "1"]
