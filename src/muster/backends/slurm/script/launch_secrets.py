"""The secrets of a gang's tasks, as the login node is told them beside the batch script."""

import base64
from typing import Any

from muster.domain.launch_requests import GangLaunch, LaunchRequest
from muster.launch.secret_variables import secret_files, secret_paths, secret_values


def launch_secrets(launch: GangLaunch) -> dict[str, Any]:
    """The secrets of each task. The node knows where the files of a task are."""
    return {request.task_id: _of_task(launch, request) for request in launch.requests if request.secrets}


def _of_task(launch: GangLaunch, request: LaunchRequest) -> dict[str, Any]:
    values = launch.secret_values
    names = dict.fromkeys(use.name for use in request.secrets)
    return {
        "files": {path: _text(value) for path, value in secret_files(request.secrets, values).items()},
        "masked": [_text(values[name]) for name in names],
        "variables": secret_values(request.secrets, values),
        "paths": secret_paths(request.secrets),
    }


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()
