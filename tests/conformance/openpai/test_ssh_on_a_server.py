"""The ssh plugin on a real server: tasks wait for each other, reach each other by name, and know their ports."""

import json
from pathlib import Path

import pytest

from tests.parts.server import MusterServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/usr/sbin/sshd").exists(), reason="OpenSSH's server is not installed"),
]
JOB = """\
protocolVersion: 2
name: pai-ssh-tasks
type: job
taskRoles:
  master:
    resourcePerInstance: {cpu: 0.1, memoryMB: 64, gpu: 0}
    commands:
      - test "$PAI_CONTAINER_SSH_PORT" = "$PAI_PORT_LIST_master_0_ssh"
      - test "$PAI_worker_0_ssh_PORT" -gt 0
      - ssh worker-0 'echo "this is $PAI_CURRENT_TASK_ROLE_NAME $PAI_TASK_INDEX of $PAI_JOB_NAME"'
  worker:
    completion: {minSucceededInstances: -1}
    resourcePerInstance: {cpu: 0.1, memoryMB: 64, gpu: 0}
    commands: [sleep 600]
extras:
  com.microsoft.pai.runtimeplugin:
    - {plugin: ssh, parameters: {jobssh: true, sshbarrier: true, sshbarrierTimeout: 5}}
"""


def test_task_runs_a_command_in_another_by_its_name(muster_server: MusterServer, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB)

    ran = muster_server.run("submit", str(file), "--wait", "-o", "json", timeout_s=400)

    assert ran.stdout, ran.stderr
    job = json.loads(ran.stdout)
    log = muster_server.run("logs", job["id"], "-w", "master-0").stdout
    assert job["state"] == "Succeeded", log
    assert f"this is worker 0 of {job['owner']}~pai-ssh-tasks\n" in log
