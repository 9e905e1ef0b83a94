"""Builds the Job of `muster run` from its options: the name, the roles, and the folder to send."""

import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from muster.client.specs import Command, Job, Role
from muster.client.submitting import is_on_cluster

_INTERPRETERS = frozenset({"python", "python3", "sh", "bash", "env", "torchrun", "mpirun", "paddle", "node"})
_SCRIPTS = (".py", ".sh", ".js", ".R", ".jl")
_NAME_LETTERS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    words: tuple[str, ...]
    name: str | None = None
    workers: int = 1
    ps: int = 0
    cpu: str | None = None
    memory: str | None = None
    gpu: float | None = None
    gpu_type: str | None = None
    devices: Mapping[str, int] = field(default_factory=dict)
    framework: str | None = None
    cluster: str | None = None
    priority: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    """The variable that gets the value of each secret, by the name of the secret."""
    params: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    package: str | None = None
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    runtime: Mapping[str, str] = field(default_factory=dict)
    setup: str | None = None
    time_limit: str | None = None
    retries: int | None = None
    stdin: bool = False
    tty: bool = False


def as_job(asked: RunOptions) -> Job:
    command = command_of(asked.words)
    worker = Role(
        command=command,
        replicas=asked.workers,
        cpu=asked.cpu,
        memory=asked.memory,
        gpu=asked.gpu,
        gpu_type=asked.gpu_type,
        devices=asked.devices,
        stdin=asked.stdin,
        tty=asked.tty,
    )
    roles = {"worker": worker}
    if asked.ps:
        roles["ps"] = Role(command=command, replicas=asked.ps, cpu=asked.cpu, memory=asked.memory)
    return Job(
        name=asked.name or f"{name_from(asked.words)}-{os.urandom(2).hex()}",
        roles=roles,
        framework=asked.framework,
        cluster=asked.cluster,
        priority=asked.priority,
        env=asked.env,
        secrets=[{"name": name, "env": variable} for name, variable in asked.secrets.items()],
        params=asked.params,
        labels=asked.labels,
        package=asked.package,
        inputs=[input_of(text) for text in asked.inputs],
        outputs=asked.outputs,
        setup=asked.setup,
        time_limit=asked.time_limit,
        retries=asked.retries,
        extra={"runtime": dict(asked.runtime)},
    )


def input_of(text: str) -> Mapping[str, str]:
    """Parses `PATH` or `PATH:TARGET`."""
    path, _, target = text.partition(":")
    source = str(Path(path).expanduser().absolute())
    return {"source": source, "target": target} if target else {"source": source}


def command_of(words: tuple[str, ...]) -> Command:
    """A single quoted argument that contains spaces is a shell command; several arguments are an argument list."""
    if len(words) == 1 and re.search(r"\s", words[0]):
        return words[0]
    return list(words)


def name_from(words: tuple[str, ...]) -> str:
    """A job name from a command: `python -u src/Train_v2.py --lr 1` becomes `train-v2`."""
    if len(words) == 1:
        try:
            words = tuple(shlex.split(words[0])) or words
        except ValueError:
            pass  # the shell will report an unbalanced quote
    scripts = [word for word in words if PurePath(word).suffix in _SCRIPTS]
    for word in (*scripts, *words):
        if word.startswith("-") or "=" in word:
            continue
        stem = PurePath(word).name
        if re.fullmatch(r"(python|pypy)[\d.]*", stem) or stem in _INTERPRETERS:
            continue
        name = re.sub(r"[^a-z0-9]+", "-", PurePath(stem).stem.lower()).strip("-")[:_NAME_LETTERS].strip("-")
        if name:
            return name
    return "run"


def folder_to_send(named: str | None, here: Path, home: Path, say: Callable[[str], None]) -> str | None:
    """The named folder, which may lie on a cluster, or else the current one, unless that is a home folder or the root
    folder."""
    if named is not None:
        return named if is_on_cluster(named) else str(Path(named).absolute())
    if here in (Path("/"), home):
        say(f"{here} is a home folder or the root folder and is not sent; choose a folder with --package DIR")
        return None
    return str(here)
