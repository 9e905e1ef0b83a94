"""The ssh plugin: what it asks for in the spec, and what tasks read when their SSH servers run."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from muster.wire.specs import read_source
from tests.unit.launch.gangs import composed
from tests.unit.wire_dialects.reading import translated

pytestmark = pytest.mark.fast
JOB = """\
protocolVersion: 2
name: pai-ssh
type: job
taskRoles:
  worker:
    instances: {instances}
    resourcePerInstance: {{cpu: 1, memoryMB: 64, gpu: 0}}
    commands: ["echo $PAI_CONTAINER_SSH_PORT $PAI_PORT_LIST_worker_0_ssh $PAI_worker_1_ssh_PORT"]
extras:
  com.microsoft.pai.runtimeplugin:
    - {{plugin: ssh, parameters: {parameters}}}
"""
KEY = "ssh-ed25519 AAAA me@here"


@pytest.mark.parametrize(
    ("instances", "parameters", "wanted"),
    [
        (2, "{jobssh: true}", True),
        (2, "{jobssh: 'true', sshbarrier: true}", True),
        (2, "{jobssh: false}", None),
        (2, "{}", None),
        (1, "{jobssh: true, sshbarrier: true}", None),
        (1, f"{{jobssh: false, userssh: {{type: custom, value: {KEY}}}}}", {"authorizedKeys": [KEY]}),
        (2, f"{{jobssh: true, userssh: {{type: custom, value: {KEY}}}}}", {"authorizedKeys": [KEY]}),
        (2, "{jobssh: true, userssh: {type: none, value: ''}}", True),
    ],
)
def test_ssh_is_asked_for_where_somebody_uses_it(instances: int, parameters: str, wanted: Any) -> None:
    translation = translated(JOB.format(instances=instances, parameters=parameters))

    assert translation.data.get("ssh") == wanted
    assert translation.refusals == ()


def test_tasks_that_start_alone_do_not_reach_each_other() -> None:
    text = JOB.format(instances=2, parameters="{jobssh: true, sshbarrier: true}")

    assert "ssh" not in translated(text.replace("extras:\n", "extras:\n  gangAllocation: false\n")).data


def test_ports_are_those_of_the_servers_and_sessions_have_the_variables_too(tmp_path: Path) -> None:
    spec = read_source(JOB.format(instances=2, parameters="{}")).spec
    (tmp_path / "ssh").mkdir()
    (tmp_path / "ssh.peers").write_text("worker-0 10.0.0.1 2201\nworker-1 10.0.0.2 2202\n")
    (tmp_path / "ssh" / "environment").write_text("export OLD='1'\n")
    env = {"PATH": os.environ["PATH"], "MUSTER_SSH_PORT": "2201", "MUSTER_TASK_DIR": str(tmp_path)}
    request = composed(spec)[0]

    said = subprocess.run(
        request.argv, env={**request.env, **env}, capture_output=True, text=True, timeout=60, check=True
    )
    session = subprocess.run(
        ["sh", "-c", f". {tmp_path}/ssh/environment; echo $PAI_CURRENT_TASK_ROLE_NAME $PAI_worker_1_ssh_PORT"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert said.stdout == "2201 2201 2202\n"
    assert session.stdout == "worker 2202\n"
