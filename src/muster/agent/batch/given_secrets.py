"""What a task of an allocation finds of its secrets in its folder: see `gang_secrets`, which most tasks never need."""

from __future__ import annotations

import os
from typing import Dict

from muster.agent.system.disk import read_json
from muster.agent.tasks.task_folder import MASKED

VARIABLES = "secret-variables"
GIVEN = "given-secrets"
"""What the login node keeps for a task that shares no folder with it."""


def has_secrets(folder: str) -> bool:
    """Whether there is something to mask in its log, and to remove, at the end."""
    return os.path.exists(os.path.join(folder, MASKED))


def take_variables(folder: str) -> Dict[str, str]:
    """The variables whose values are secrets. They are no longer on the disk afterwards."""
    path = os.path.join(folder, VARIABLES)
    found = read_json(path) or {}
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    return {str(name): str(value) for name, value in found.items()}
