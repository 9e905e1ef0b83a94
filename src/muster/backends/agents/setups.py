"""The folder on a node in which the setup of a task is prepared, and what its agent has to know about it."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from muster.agent.tasks.setup_order import FOLDER
from muster.agent.tasks.task_folder import SETUP
from muster.backends.agents.connection import AgentNode
from muster.domain.clusters import SetupCache
from muster.domain.launch_requests import LaunchRequest
from muster.domain.specs import Mount
from muster.launch.setups import ENTRY_VARIABLE

_OWNER_LETTERS = 32


def with_setup(
    agent: AgentNode,
    request: LaunchRequest,
    isolation: Mapping[str, Any] | None,
    cache: SetupCache,
    *,
    is_helped: bool,
) -> tuple[LaunchRequest, dict[str, Any] | None]:
    """The request with the place of its setup, and the agent's part of it. What the task helper starts keeps the result
    to itself: the agent could neither share nor remove what belongs to other accounts."""
    if request.setup is None:
        return request, None
    root = agent.hello["root"]
    if is_helped:
        entry = f"{root}/tasks/{request.task_id}/{SETUP}"
    else:
        owner_id = "" if isolation is None else str(isolation["owner_id"])
        entry = f"{root}/{FOLDER}/{owner_folder(request.owner, owner_id)}/{request.setup.key}"
    placed = replace(request, env={**request.env, ENTRY_VARIABLE: entry})
    if request.image:
        placed = replace(placed, mounts=(*request.mounts, Mount(entry, entry)))
    return placed, {
        "entry": entry,
        "kept": request.setup.is_kept,
        "most_bytes": cache.most_bytes,
        "most_age_s": cache.unused_s,
    }


def owner_folder(owner: str, owner_id: str) -> str:
    """The name of the folder in which the setups of a user are. A later user of the same name has another id."""
    return hashlib.sha256(f"{owner}\0{owner_id}".encode()).hexdigest()[:_OWNER_LETTERS]
