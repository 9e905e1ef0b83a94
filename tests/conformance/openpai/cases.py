"""The cases of this suite: a job file each, and what OpenPAI's documents say of it (see cases/README.md)."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from muster.domain.launch_requests import LaunchRequest
from muster.domain.specs import JobSpec
from muster.launch.secret_variables import secret_variables
from tests.unit.launch.gangs import composed, placed

CASES = Path(__file__).parent / "cases"
ON_THIS_MACHINE = {"runtime.image": None}
_WITHIN_S = 60


@dataclass(frozen=True)
class Case:
    file: Path
    expected: Mapping[str, Any]

    @property
    def text(self) -> str:
        return self.file.read_text()

    @property
    def outcome(self) -> str:
        return str(self.expected["outcome"])

    @property
    def silent(self) -> list[str]:
        return list(self.expected.get("silent", []))


def case(name: str) -> Case:
    file = next(path for path in (CASES / f"{name}.yaml", CASES / f"{name}.json") if path.exists())
    return Case(file, yaml.safe_load((CASES / f"{name}.expected.yaml").read_text()))


def names(*outcomes: str, on_server: bool = False) -> list[str]:
    found = (path.name.removesuffix(".expected.yaml") for path in sorted(CASES.glob("*.expected.yaml")))
    return [
        name
        for name in found
        if case(name).outcome in outcomes and (case(name).expected.get("server", False) or not on_server)
    ]


def keys_told(texts: list[str]) -> list[str]:
    """The keys that warnings or problems begin with, after their line."""
    return [re.sub(r"^line \d+: ", "", text).split(": ", 1)[0] for text in texts]


def finished(
    spec: JobSpec, folder: Path, secrets: Mapping[str, str] | None = None
) -> Iterator[tuple[str, "subprocess.CompletedProcess[str]"]]:
    """Runs the command of each task as it is composed, in a folder of its own, and yields the task and its end."""
    tasks = placed(spec)
    values = {name: value.encode() for name, value in (secrets or {}).items()}
    for task, request in zip(tasks, composed(spec, tasks), strict=True):
        name = f"{task.role}-{task.index}"
        yield name, _run(request, folder / name, values)


def _run(request: LaunchRequest, folder: Path, secrets: Mapping[str, bytes]) -> "subprocess.CompletedProcess[str]":
    folder.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), **request.env}
    env |= secret_variables(request.secrets, secrets, str(folder))
    return subprocess.run(
        request.argv, cwd=folder, env=env, capture_output=True, text=True, timeout=_WITHIN_S, check=False
    )


def assert_says(output: str, lines: list[str]) -> None:
    """The output contains these lines in this order; a line in braces is a pattern."""
    left = output.splitlines()
    for line in lines:
        pattern = line[1:-1] if line.startswith("{") and line.endswith("}") else re.escape(line)
        place = next((place for place, said in enumerate(left) if re.fullmatch(pattern, said)), None)
        assert place is not None, f"{line!r} is not in the rest of the output:\n{output}"
        left = left[place + 1 :]
