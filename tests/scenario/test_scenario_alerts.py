"""Alerts: what the engine knows is wrong, and who learns of it."""

from dataclasses import replace

import pytest

from muster.domain.access import Access
from muster.domain.accounts import User, UserRole
from muster.domain.alerting.alerts import Alert, AlertKind, Severity
from muster.domain.nodes import NodeState
from muster.domain.used_resources import UsedGpu, UsedResources
from muster.engine.alerts.visible_alerts import visible_alerts
from muster.engine.lifecycle.access_holds import check_access
from muster.ports.capabilities import NodeUsage, TaskUsage
from tests.parts.building import GIB, a_node, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
ADMIN = User("root", UserRole.ADMIN, 0.0)
AMY = User("amy", UserRole.USER, 0.0)
BOB = User("bob", UserRole.USER, 0.0)


async def alerts(lab: Laboratory, user: User, kind: AlertKind) -> list[Alert]:
    return [alert for alert in await visible_alerts(lab.context, user) if alert.kind is kind]


async def test_an_unreachable_node_is_critical_while_it_has_tasks_and_concerns_their_owner(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    away = replace(a_node("n1", state=NodeState.UNREACHABLE), note="ssh: root@10.0.0.9 refuses the key", since=7.0)
    lab.backend.machines[:] = [away, a_node("n2")]
    lab.backend.tell_nodes()
    (for_amy,) = await alerts(lab, AMY, AlertKind.NODE_UNREACHABLE)
    (for_bob,) = await alerts(lab, BOB, AlertKind.NODE_UNREACHABLE)
    (for_admin,) = await alerts(lab, ADMIN, AlertKind.NODE_UNREACHABLE)
    assert (for_amy.severity, for_amy.since, dict(for_amy.numbers)) == (Severity.CRITICAL, 7.0, {"tasks": 1})
    assert [one.concerns_me for one in (for_amy, for_bob, for_admin)] == [True, False, True]
    assert "10.0.0.9" not in for_amy.message, "how the server logs in is for admins"
    assert "10.0.0.9" in for_admin.message
    assert for_amy.id == for_admin.id == "node-unreachable:lab/n1"


async def test_a_gpu_out_of_service_is_named_once_although_the_node_says_it_too(lab: Laboratory) -> None:
    node = a_node("n1", 8, 32 * GIB, "A100", "A100")
    broken = replace(node.capacity.devices[1], out_of_service="7 memory errors")
    capacity = replace(node.capacity, devices=(node.capacity.devices[0], broken))
    said = ("GPU 1 is out of service: 7 memory errors", "its clock is 3m off")
    lab.backend.machines[:] = [replace(node, capacity=capacity, alerts=said)]
    (gpu,) = await alerts(lab, BOB, AlertKind.GPU_OUT_OF_SERVICE)
    assert (gpu.subject.name, gpu.numbers["index"], gpu.numbers["model"]) == ("n1/1", 1, "A100")
    (other,) = await alerts(lab, BOB, AlertKind.NODE_PROBLEM)
    assert other.message == "node n1: its clock is 3m off"


async def test_a_full_disk_of_a_node_is_told_with_its_numbers(lab: Laboratory) -> None:
    metrics = {"disk_total_bytes": 100 * GIB, "disk_used_bytes": 98 * GIB}
    lab.backend.measured("n1", NodeUsage(1.0, metrics, {}))
    (disk,) = await alerts(lab, BOB, AlertKind.NODE_DISK)
    assert (disk.severity, disk.numbers["percent"]) == (Severity.CRITICAL, 98)
    lab.backend.measured("n1", NodeUsage(2.0, {**metrics, "disk_used_bytes": 50 * GIB}, {}))
    assert not await alerts(lab, BOB, AlertKind.NODE_DISK)


async def test_a_cluster_without_a_ready_node_is_told_to_those_who_may_use_it(lab: Laboratory) -> None:
    lab.backend.machines[:] = [a_node("n1", state=NodeState.UNREACHABLE)]
    lab.backend.settings = replace(lab.backend.settings, access=Access(("amy",)))
    lab.backend.tell_nodes()
    assert len(await alerts(lab, AMY, AlertKind.CLUSTER_UNREACHABLE)) == 1
    assert not [one for one in await visible_alerts(lab.context, BOB) if one.subject.cluster == "lab"]


async def test_problems_of_cluster_files_are_for_admins(lab: Laboratory) -> None:
    (lab.clusters / "vc.yaml").write_text("name: a\nguarentee: {gpus: 1}\n")
    await lab.until(lambda: lab.context.config.problems)
    found = await alerts(lab, ADMIN, AlertKind.CLUSTER_FILE)
    assert {"file": "vc.yaml", "path": "guarentee", "line": 2} in [dict(one.numbers) for one in found]
    assert len({one.id for one in found}) == len(found)
    assert not await alerts(lab, AMY, AlertKind.CLUSTER_FILE)


async def test_a_job_whose_owner_lost_access_waits_for_somebody_and_one_that_waits_for_room_does_not(
    lab: Laboratory,
) -> None:
    lab.backend.machines[:] = [a_node("n1", 8, 32 * GIB, "A100")]
    lab.backend.tell_nodes()
    first = await lab.submit(a_spec(a_role(gpus=1), name="first"))
    await lab.becomes(first, "Running")
    waiting = await lab.submit(a_spec(a_role(gpus=1), name="second"))
    await lab.becomes(waiting, "Queued")
    assert not await alerts(lab, AMY, AlertKind.JOB_NEEDS_ACTION), "it starts when the first one ends"
    lab.backend.settings = replace(lab.backend.settings, access=Access(("bob",)))
    await check_access(lab.context)
    await lab.becomes(waiting, "Held")
    (stuck,) = await alerts(lab, AMY, AlertKind.JOB_NEEDS_ACTION)
    assert (stuck.subject.id, stuck.numbers["code"], stuck.concerns_me) == (waiting, "held", True)
    assert not await alerts(lab, BOB, AlertKind.JOB_NEEDS_ACTION)


@pytest.mark.parametrize(("sampled_s", "peak", "expected"), [(1200.0, 2.0, 1), (60.0, 2.0, 0), (1200.0, 80.0, 0)])
async def test_gpus_that_were_never_used_are_told_to_owner_and_admin(
    lab: Laboratory, sampled_s: float, peak: float, expected: int
) -> None:
    lab.backend.machines[:] = [a_node("n1", 8, 32 * GIB, "A100")]
    lab.backend.tell_nodes()
    job_id = await lab.submit(a_spec(a_role(gpus=1)))
    await lab.becomes(job_id, "Running")
    used = UsedResources(gpus=(UsedGpu(0, sampled_s, peak / 2, peak),))
    task = TaskUsage(cpu_percent=1.0, rss_bytes=1, processes=1, used=used)
    lab.backend.measured("n1", NodeUsage(1.0, {}, {f"{job_id}.1.worker.0": task}))
    for user, count in ((AMY, expected), (ADMIN, expected), (BOB, 0)):
        assert len(await alerts(lab, user, AlertKind.IDLE_ALLOCATION)) == count


async def test_a_restored_server_says_that_it_starts_nothing(lab: Laboratory) -> None:
    lab.context.is_held = True
    (first, *_) = await visible_alerts(lab.context, AMY)
    assert (first.kind, first.severity) == (AlertKind.SERVER_HELD, Severity.CRITICAL)
