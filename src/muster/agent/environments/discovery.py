"""Finds the environments of this node: those of its conda installation, virtual ones in folders, and images of its
container engine.

A child process with a deadline looks for them, because folders may be on a file server that does not answer.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, List, Mapping, Optional, Tuple

from muster.agent import requests
from muster.agent.environments.scripts import FRAMEWORKS, LIST
from muster.agent.errors import BAD_REQUEST, SYSTEM, AgentError
from muster.agent.system.file_identity import FileIdentity
from muster.agent.system.short_commands import call

_LIST_WITHIN_S = 20.0
_IMAGES_WITHIN_S = 10.0
_MOST_IMAGES = 500

Found = Dict[str, Any]


class Wanted:
    """The checked request: the conda installation, the folders and the engine to look at. `identity` is the account
    with whose rights files are read."""

    def __init__(self, request: Mapping[str, Any], identity: Optional[FileIdentity] = None) -> None:
        self.identity = identity
        self.conda = _path(request.get("conda") or "")
        self.folders = _folders(request.get("folders") or [])
        self.engine: Optional[Tuple[str, str]] = None
        if request.get("engine"):
            engine = request["engine"]
            if not isinstance(engine, dict):
                raise AgentError(BAD_REQUEST, "engine must be an object with name and program")
            self.engine = (requests.text(engine, "name"), _path(requests.text(engine, "program")))


def find(wanted: Wanted) -> Dict[str, Any]:
    """This may block. What could not be looked at is among `problems`; the rest is returned all the same."""
    problems: List[str] = []
    found: List[Found] = []
    for look in (_installed, _images):
        try:
            found += look(wanted)
        except (AgentError, OSError, ValueError) as error:
            problems.append(str(error))
    return {"environments": found, "problems": problems}


def _installed(wanted: Wanted) -> List[Found]:
    if not wanted.conda and not wanted.folders:
        return []
    account = json.dumps(wanted.identity)
    pairs = [part for folder in wanted.folders for part in folder]
    done = call(
        [sys.executable, "-I", "-S", "-c", LIST, account, wanted.conda, json.dumps(FRAMEWORKS), *pairs],
        _LIST_WITHIN_S,
        most_bytes=1 << 22,
    )
    if done.late:
        raise AgentError(
            SYSTEM, "folders do not answer: looking for environments took over {:g} s".format(_LIST_WITHIN_S)
        )
    if done.code:
        raise AgentError(SYSTEM, "cannot look for environments: {}".format(done.complaint))
    return list(json.loads(done.output))


def _images(wanted: Wanted) -> List[Found]:
    if wanted.engine is None or wanted.engine[0] not in ("podman", "docker"):
        return []  # apptainer's images are files
    name, program = wanted.engine
    done = call([program, "images", "--format", "{{.Repository}}:{{.Tag}}"], _IMAGES_WITHIN_S)
    if done.late or done.code:
        raise AgentError(SYSTEM, "{} does not list its images: {}".format(name, done.complaint))
    names = [line for line in done.output.splitlines() if line and "<none>" not in line]
    return [
        {"kind": "image", "name": image, "path": "", "python": "", "frameworks": {}}
        for image in sorted(set(names))[:_MOST_IMAGES]
    ]


def _folders(value: Any) -> List[Tuple[str, str]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise AgentError(BAD_REQUEST, "folders must be a list of objects with name and path")
    return [(requests.text(one, "name"), _path(requests.text(one, "path"))) for one in value]


def _path(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value or (value and not os.path.isabs(value)):
        raise AgentError(BAD_REQUEST, "a path must be absolute, not {!r}".format(value))
    return value
