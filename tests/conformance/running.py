"""Runs a job file of another system as its users would, and gathers what they would see."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.parts.server import MusterServer


@dataclass(frozen=True)
class ForeignRun:
    state: str
    log: str
    said: str
    id: str

    def of(self, task: str) -> list[str]:
        """The lines of one task of several."""
        return [line.partition(" | ")[2] for line in self.log.splitlines() if line.startswith(f"{task} | ")]


def run_file(server: MusterServer, file: Path, *options: str, folder: Path | None = None) -> ForeignRun:
    """Submits the file from its folder and waits for the end of the job."""
    words = ["submit", str(file), *options, "--wait", "-o", "json"]
    ran = server.run(*words, cwd=folder or file.parent)
    assert ran.stdout, ran.stderr
    job = json.loads(ran.stdout)
    log = server.run("logs", job["id"], check=True).stdout
    return ForeignRun(job["state"], log, ran.stderr, job["id"])


def refused(server: MusterServer, file: Path, *options: str) -> str:
    """What is said of a file that is not submitted."""
    ran = server.run("submit", str(file), *options, "--hold", cwd=file.parent)
    assert ran.returncode != 0, ran.stdout
    return " ".join(ran.stderr.split())


def written(folder: Path, name: str, lines: str | Sequence[str]) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines if isinstance(lines, str) else "\n".join(lines) + "\n")
    return path
