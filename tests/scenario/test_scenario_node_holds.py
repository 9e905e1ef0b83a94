"""A node that fails tasks for reasons of its own is held back, and comes back by itself."""

import pytest

from muster.domain.errors import BackendError
from muster.domain.nodes import NodeState
from muster.engine.lifecycle import node_holds
from muster.engine.nodes.administration import uncordon
from tests.parts.building import a_node, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


def disk_full() -> BackendError:
    return BackendError("no space is left on the node's disk", reason="disk-full")


async def test_a_full_disk_takes_one_attempt_and_no_more(lab: Laboratory) -> None:
    lab.backend.machines[:] = [a_node("n1")]
    lab.backend.tell_nodes()
    lab.backend.refusals = [disk_full()]
    first = await lab.submit(a_spec(name="first"))
    await lab.becomes(first, "Queued")
    (node,) = lab.context.nodes("lab")
    assert node.state is NodeState.CORDONED
    assert "disk was full" in node.note
    assert any("held back" in alert for alert in node.alerts)
    others = [await lab.submit(a_spec(name=f"other-{number}")) for number in range(5)]
    await lab.settled()
    assert [(await lab.job(one)).attempt for one in others] == [0] * 5, "the full node has eaten an attempt"
    assert "node.alert" in [event.kind for event in await lab.events()]


async def test_a_held_node_comes_back_by_itself(lab: Laboratory) -> None:
    lab.context.hold_node_s = 0.0
    lab.backend.refusals = [disk_full()]
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Queued")
    await lab.until(lambda: lab.context.nodes("lab")[0].is_usable)
    lab.pass_time(60.0)
    await lab.becomes(job_id, "Running", attempt=2)


async def test_an_admin_may_use_a_held_node_at_once(lab: Laboratory) -> None:
    lab.backend.refusals = [disk_full()]
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Queued")
    await uncordon(lab.context, "lab", "n1", "amy")
    lab.pass_time(60.0)
    await lab.becomes(job_id, "Running", attempt=2)


async def test_other_faults_of_the_node_are_forgiven_a_few_times_and_a_success_forgets_them(lab: Laboratory) -> None:
    broken = BackendError("the shim is gone", reason="system")
    for number in range(node_holds.ALLOWED):
        lab.backend.refusals = [broken]
        job_id = await lab.submit(a_spec(name=f"bad-{number}"))
        await lab.becomes(job_id, "Queued")
        lab.pass_time(60.0)
        await lab.becomes(job_id, "Running")
        assert lab.context.nodes("lab")[0].is_usable
    lab.backend.refusals = [broken]
    await lab.becomes(await lab.submit(a_spec(name="last")), "Queued")
    assert not lab.context.nodes("lab")[0].is_usable


async def test_a_fault_of_the_user_holds_no_node(lab: Laboratory) -> None:
    for number in range(5):
        job_id = await lab.submit(a_spec(name=f"wrong-{number}"))
        await lab.becomes(job_id, "Running")
        lab.backend.end(f"{job_id}.1.worker.0", exit_code=1)
        await lab.becomes(job_id, "Failed")
    assert lab.context.nodes("lab")[0].is_usable


async def test_what_the_node_said_about_a_task_is_not_shown_to_everybody(lab: Laboratory) -> None:
    lab.context.node_failures["lab", "n1"] = node_holds.ALLOWED
    lab.backend.refusals = [BackendError("cannot use /data/secret-project of job blue", reason="system")]
    await lab.becomes(await lab.submit(a_spec()), "Queued")
    (node,) = lab.context.nodes("lab")
    assert [alert.partition(": ")[2] for alert in node.alerts] == ["it could not start a task"]
    await lab.settled()
    alerts = [event.data["message"] for event in await lab.events() if event.kind == "node.alert"]
    assert alerts
    assert "secret-project" not in str(alerts)


async def test_a_registry_that_does_not_answer_holds_no_node(lab: Laboratory) -> None:
    for number in range(node_holds.ALLOWED + 2):
        lab.backend.refusals = [BackendError("dial tcp: i/o timeout", reason="registry")]
        await lab.becomes(await lab.submit(a_spec(name=f"image-{number}")), "Queued")
    assert lab.context.nodes("lab")[0].is_usable
