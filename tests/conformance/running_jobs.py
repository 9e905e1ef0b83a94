"""Runs a foreign job file on a real server, without the image that the machine does not have."""

import json
from dataclasses import dataclass
from pathlib import Path

from tests.parts.server import MusterServer


@dataclass(frozen=True)
class Ran:
    state: str
    log: str
    warnings: str

    def lines(self, beginning: str) -> list[str]:
        """What the tasks printed after this word, in order."""
        found = (line.partition(f"{beginning} ")[2] for line in self.log.splitlines() if f"{beginning} " in line)
        return sorted(found)


def ran(server: MusterServer, text: str, folder: Path, *words: str) -> Ran:
    """Submits the file, waits for the end of the job, and reads the logs of its tasks."""
    file = folder / "job.yaml"
    file.write_text(text)
    done = server.run("submit", str(file), "--set", "runtime.image=null", *words, "--wait", "-o", "json")
    assert done.stdout, done.stderr
    job = json.loads(done.stdout)
    return Ran(job["state"], server.run("logs", job["id"]).stdout, done.stderr)
