"""The secrets of a gang's tasks, as the login node is told them beside the batch script."""

import base64
from typing import Any

from muster.agent.tasks.task_folder import SECRETS
from muster.domain.launch_requests import GangLaunch, LaunchRequest
from muster.launch.secret_variables import secret_files, secret_variables


def launch_secrets(launch: GangLaunch, tasks_folder: str) -> dict[str, Any]:
    """By task. `tasks_folder` is where the folders of the tasks are, on the nodes and the login node."""
    return {
        request.task_id: _of_task(launch, request, f"{tasks_folder}/{request.task_id}/{SECRETS}")
        for request in launch.requests
        if request.secrets
    }


def _of_task(launch: GangLaunch, request: LaunchRequest, folder: str) -> dict[str, Any]:
    values = launch.secret_values
    names = dict.fromkeys(use.name for use in request.secrets)
    return {
        "files": {path: _text(value) for path, value in secret_files(request.secrets, values).items()},
        "masked": [_text(values[name]) for name in names],
        "variables": secret_variables(request.secrets, values, folder),
    }


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()
