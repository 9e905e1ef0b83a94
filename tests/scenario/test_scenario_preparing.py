"""Before a gang starts, every node has what it needs; a node that cannot be given it is not asked again at once."""

import pytest

from muster.domain.accounts import Package
from muster.domain.errors import CONNECTION_LOST
from muster.domain.failures.faults import FaultKind
from muster.domain.jobs import Failed
from muster.domain.specs import Completion, JobSpec, Role
from muster.domain.tasks import TaskFailed
from muster.engine.requests import commands
from muster.engine.requests.explaining import live_reason
from muster.ports.capabilities import Unready
from muster.ports.store import Change
from tests.parts.building import a_node, a_role
from tests.parts.building import a_spec as a_bare_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
CODE = "c" * 64
DISK_FULL = Unready("n1", "disk-full", "no space is left")


def a_spec(*roles: Role, **fields: object) -> JobSpec:
    return a_bare_spec(*roles, package=CODE, **fields)  # type: ignore[arg-type]


@pytest.fixture
async def lab(lab: Laboratory) -> Laboratory:
    await lab.context.store.apply(Change(new_package=Package(CODE, "amy", 1, 1.0)))
    return lab


def two_nodes(lab: Laboratory) -> None:
    lab.backend.machines = [a_node("n1", cpu=4), a_node("n2", cpu=4)]
    assert lab.backend.listener is not None
    lab.backend.listener.nodes_changed("lab")


async def test_no_task_is_launched_before_all_nodes_are_ready(lab: Laboratory) -> None:
    two_nodes(lab)
    lab.backend.may_prepare.clear()
    job_id = await lab.submit(a_spec(a_role(replicas=2, cpu=3)))
    await lab.until(lambda: lab.backend.prepared)
    assert set(lab.backend.prepared[0]) == {"n1", "n2"}
    assert not lab.backend.tasks
    lab.backend.may_prepare.set()
    await lab.becomes(job_id, "Running")


async def test_while_it_is_sent_the_job_says_so(lab: Laboratory) -> None:
    lab.backend.may_prepare.clear()
    job_id = await lab.submit(a_spec())
    entry = lab.context.open_jobs.get(job_id)
    assert entry is not None
    reason = live_reason(lab.context, entry.job)
    assert reason is not None
    assert reason.message == "sending 1.2 GiB of 4.0 GiB to n1"
    lab.backend.may_prepare.set()
    await lab.becomes(job_id, "Running")


async def test_failed_preparation_undoes_the_attempt_and_does_not_count(lab: Laboratory) -> None:
    two_nodes(lab)
    lab.backend.unready = [DISK_FULL]
    job_id = await lab.submit(a_spec(a_role(replicas=2, cpu=3)))
    job = await lab.becomes(job_id, "Queued", attempt=1)
    assert (job.retries, job.platform_retries) == (0, 1)
    assert not lab.backend.starts
    states = {task.placement.node: task.state_name for task in await lab.tasks(job_id, 1)}
    assert states == {"n1": "Failed", "n2": "Stopped"}
    lab.pass_time(60)
    await lab.becomes(job_id, "Running", attempt=2)


async def test_an_attempt_that_never_started_is_no_success_whatever_the_role_says(lab: Laboratory) -> None:
    lab.backend.unready = [DISK_FULL]
    job_id = await lab.submit(a_spec(a_role(completion=Completion(None, None))))
    await lab.becomes(job_id, "Queued", attempt=1)


async def test_broken_package_fails_the_job_at_once(lab: Laboratory) -> None:
    lab.backend.unready = [Unready("n1", "package", "what was sent has another digest")]
    job_id = await lab.submit(a_spec())
    job = await lab.becomes(job_id, "Failed")
    assert isinstance(job.state, Failed)
    assert (job.state.fault.kind, job.state.fault.code) == (FaultKind.CONFIGURATION, "package")


@pytest.mark.parametrize("code", ["disk-full", "system", CONNECTION_LOST])
async def test_the_next_try_avoids_the_node_that_failed(lab: Laboratory, code: str) -> None:
    two_nodes(lab)
    lab.backend.unready = [Unready("n1", code, "it could not")]
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Queued", attempt=1)
    assert lab.backend.prepared == [("n1",)]
    lab.pass_time(60)
    await lab.becomes(job_id, "Running", attempt=2)
    assert lab.backend.prepared[1:] == [("n2",)]


async def test_a_node_that_failed_is_tried_again_when_no_other_can_hold_the_gang(lab: Laboratory) -> None:
    two_nodes(lab)
    lab.backend.unready = [DISK_FULL]
    job_id = await lab.submit(a_spec(a_role(replicas=2, cpu=3)))
    await lab.becomes(job_id, "Queued", attempt=1)
    lab.pass_time(60)
    await lab.becomes(job_id, "Running", attempt=2)
    assert set(lab.backend.prepared[1]) == {"n1", "n2"}


async def test_a_fault_of_the_program_avoids_no_node(lab: Laboratory) -> None:
    two_nodes(lab)
    job_id = await lab.submit(a_spec(retry_max=1))
    await lab.becomes(job_id, "Running")
    lab.backend.end(lab.backend.of(job_id)[0], exit_code=1)
    await lab.becomes(job_id, "Queued", attempt=1)
    entry = lab.context.open_jobs.get(job_id)
    assert entry is not None
    assert not entry.avoid


async def test_kill_does_not_wait_for_what_is_sent(lab: Laboratory) -> None:
    lab.backend.may_prepare.clear()
    job_id = await lab.submit(a_spec())
    await lab.until(lambda: lab.backend.prepared)
    await commands.kill(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Cancelled")
    assert not lab.backend.starts


async def test_restart_while_it_is_sent_prepares_and_starts_once(lab: Laboratory) -> None:
    lab.backend.may_prepare.clear()
    job_id = await lab.submit(a_spec())
    await lab.until(lambda: lab.backend.prepared)
    await lab.close()
    lab.backend.may_prepare.set()
    await lab.open()
    await lab.becomes(job_id, "Running", attempt=1)
    assert max(lab.backend.starts.values()) == 1


async def test_undone_tasks_tell_the_fault_and_have_an_empty_log(lab: Laboratory) -> None:
    lab.backend.unready = [DISK_FULL]
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Queued", attempt=1)
    (task,) = await lab.tasks(job_id, 1)
    assert isinstance(task.state, TaskFailed)
    assert task.state.fault.code == "disk-full"
    assert task.log is not None
    assert (lab.context.logs / task.log).read_bytes() == b""
