"""Starts the tasks of a foreign job file as a node would, without a server: what each one finds in its environment."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from muster.domain.launch_requests import LaunchRequest
from muster.domain.specs import JobSpec
from muster.wire.specs import Reading, read_source
from tests.unit.launch.gangs import composed, placed

HERE: Mapping[str, Any] = {"runtime.image": None}
"""Without the image, which these machines do not have; everything else is as the file says."""


@dataclass(frozen=True)
class Started:
    """One task that was run: its name in the job, and what it printed."""

    name: str
    code: int
    output: str
    errors: str

    @property
    def env(self) -> dict[str, str]:
        """For a task whose command is `env`."""
        return dict(line.split("=", 1) for line in self.output.splitlines() if "=" in line)


def read(text: str, overrides: Mapping[str, Any] = HERE) -> Reading:
    return read_source(text, overrides=overrides)


def started(text: str, folder: Path, overrides: Mapping[str, Any] = HERE) -> dict[str, Started]:
    """Runs every task of the job to its end, each in a folder of its own, and answers them by role and index."""
    spec = read(text, overrides).spec
    return {one.name: one for one in _run(spec, folder)}


def environment_in_a_gang_of(count: int, spec: JobSpec) -> Mapping[str, str]:
    """What the first worker finds in an attempt in which there was room for so many workers."""
    roles = tuple(replace(role, replicas=count) if role.name == "worker" else role for role in spec.roles)
    tasks = placed(replace(spec, roles=roles))
    first = next(place for place, task in enumerate(tasks) if task.role == "worker")
    return composed(spec, tasks)[first].env


def _run(spec: JobSpec, folder: Path) -> Sequence[Started]:
    tasks = placed(spec)
    requests = composed(spec, tasks)
    return [_ran(f"{task.role}-{task.index}", request, folder) for task, request in zip(tasks, requests, strict=True)]


def _ran(name: str, request: LaunchRequest, folder: Path) -> Started:
    own = folder / name
    own.mkdir()
    env = {"PATH": "/usr/bin:/bin", **request.env, "MUSTER_TASK_DIR": str(own)}
    done = subprocess.run(request.argv, env=env, cwd=own, capture_output=True, text=True, timeout=60, check=False)
    return Started(name, done.returncode, done.stdout, done.stderr)
