"""The ports that tasks in pods are given."""

import pytest

from muster.backends.kubernetes.assigned_ports import assigned_ports
from muster.domain.gangs import Gang
from muster.domain.specs import Framework, JobSpec, Role
from muster.launch.frameworks.paddle import LAUNCHER_PORTS
from tests.unit.backends.kubernetes.building import a_launch

pytestmark = pytest.mark.fast


def gang_of(framework: Framework) -> Gang:
    roles = (Role("ps", 1, ("x",)), Role("worker", 2, ("x",)))
    return a_launch(JobSpec("job", roles, framework=framework)).gang


def test_tasks_of_paddle_have_one_port_per_job_and_twenty_for_its_launcher() -> None:
    gang = gang_of(Framework.PADDLE)
    ports = assigned_ports(gang, {gang.tasks[0].id: 2, gang.tasks[1].id: 1, gang.tasks[2].id: 1})

    assert len({own[0] for own in ports.values()}) == 1
    endpoint, extra = ports[gang.tasks[0].id]
    assert extra >= endpoint + LAUNCHER_PORTS


def test_tasks_of_other_frameworks_have_different_ports() -> None:
    gang = gang_of(Framework.TENSORFLOW)
    ports = assigned_ports(gang, {task.id: 2 for task in gang.tasks})

    assert len({port for own in ports.values() for port in own}) == 6


def test_task_without_ports_has_none() -> None:
    for framework in (Framework.PADDLE, Framework.PLAIN):
        gang = gang_of(framework)
        assert set(assigned_ports(gang, {}).values()) == {()}
