"""Builds what the API answers about how tasks are started. The values of secrets are not in it."""

from muster.api.jobs import ContainerCommandOut, RequestOut, SetupOut
from muster.domain.launch_requests import LaunchRequest, SetupUse
from muster.launch.secret_variables import masked_variables
from muster.launch.shells import text_of
from muster.ports.backend import ContainerCommand
from muster.wire.views import extended_view


def request_view(request: LaunchRequest, container: ContainerCommand | None) -> RequestOut:
    return {
        "task": request.task_id,
        "node": request.node,
        "argv": list(request.argv),
        "args": list(request.args),
        "workdir": request.workdir if request.image else None,
        "commandLine": text_of(request.argv),
        "env": {**request.env, **masked_variables(request.secrets)},
        "ports": list(request.ports),
        "devices": list(request.devices),
        "extendedDevices": [extended_view(device) for device in request.extended],
        "image": request.image,
        "container": _container_view(container) if container else None,
        "setup": _setup_view(request.setup) if request.setup else None,
    }


def _container_view(command: ContainerCommand) -> ContainerCommandOut:
    return {"engine": command.engine, "argv": list(command.argv), "why": command.why}


def _setup_view(setup: SetupUse) -> SetupOut:
    return {"command": list(setup.command), "key": setup.key, "cache": setup.is_kept}
