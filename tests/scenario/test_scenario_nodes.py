"""Admins cordon, drain and remove nodes; what they decide holds."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from muster.domain.accounts import User, UserRole
from muster.domain.errors import Conflict, NotFound
from muster.domain.nodes import Node, NodeState
from muster.engine.lifecycle.consistency import differences
from muster.engine.nodes import administration
from tests.parts.building import a_node, a_role, a_spec
from tests.parts.fake_backend import FakeBackend
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
WIDE = a_spec(a_role(cpu=5), name="wide")


ROOT = User("root", UserRole.ADMIN, 0.0)


@pytest.fixture
async def pool(tmp_path: Path, database_template: Path) -> AsyncIterator[Laboratory]:
    backend = FakeBackend([a_node("n1"), a_node("n2")])
    laboratory = await Laboratory(tmp_path, database_template, backend).open()
    yield laboratory
    await laboratory.close()


def seen(lab: Laboratory, name: str) -> Node:
    return administration.find_node(lab.context, ROOT, name)


async def started(lab: Laboratory, name: str) -> tuple[str, str]:
    """A job of one task that runs, and its node."""
    job_id = await lab.submit(replace(WIDE, name=name))
    await lab.becomes(job_id, "Running")
    (task_id,) = lab.backend.of(job_id)
    return job_id, lab.backend.tasks[task_id].request.node


async def test_a_cordoned_node_keeps_what_runs_and_gets_nothing_new(pool: Laboratory) -> None:
    first, busy = await started(pool, "first")
    idle = {"n1": "n2", "n2": "n1"}[busy]
    await administration.cordon(pool.context, "lab", idle, "a fan is loud", "root")
    second = await pool.submit(replace(WIDE, name="second"))
    await pool.settled()
    assert (await pool.job(first)).state_name == "Running"
    assert (await pool.job(second)).state_name == "Queued"
    assert seen(pool, idle).state is NodeState.CORDONED
    assert seen(pool, idle).note == "cordoned by root: a fan is loud"
    await administration.uncordon(pool.context, "lab", idle, "root")
    await pool.becomes(second, "Running")
    assert seen(pool, idle).state is NodeState.READY


async def test_an_explanation_counts_the_nodes_that_are_kept_out(pool: Laboratory) -> None:
    _, busy = await started(pool, "first")
    for name in ("n1", "n2"):
        await administration.cordon(pool.context, "lab", name, "", "root")
    waiting = await pool.submit(replace(WIDE, name="second"))
    await pool.settled()
    (reason, *_) = pool.context.clusters["lab"].reasons(waiting, pool.now)
    assert reason.message == "no node is ready: 2 nodes are cordoned (n1, n2)"
    await administration.uncordon(pool.context, "lab", busy, "root")
    await pool.settled()
    (reason, *_) = pool.context.clusters["lab"].reasons(waiting, pool.now)
    assert reason.message == "needs 5 CPU; 3 free now; 1 node is cordoned"


async def test_a_drained_node_empties_by_itself(pool: Laboratory) -> None:
    job_id, busy = await started(pool, "first")
    await administration.drain(pool.context, "lab", busy, "moves", "root")
    await pool.settled()
    assert (seen(pool, busy).state, seen(pool, busy).note) == (NodeState.DRAINING, "draining by root: moves")
    pool.backend.end(f"{job_id}.1.worker.0")
    await pool.becomes(job_id, "Succeeded")
    assert (seen(pool, busy).state, seen(pool, busy).note) == (NodeState.DRAINING, "drained by root: moves")


async def test_draining_now_requeues_gangs_elsewhere_and_counts_nothing(pool: Laboratory) -> None:
    job_id, busy = await started(pool, "first")
    await administration.drain(pool.context, "lab", busy, "", "root", now=True)
    job = await pool.becomes(job_id, "Running", attempt=2)
    assert (job.retries, job.platform_retries, job.preemptions) == (0, 0, 0)
    assert pool.backend.tasks[f"{job_id}.2.worker.0"].request.node != busy
    stopping = [event for event in await pool.events(job_id) if event.kind == "job.stopping"]
    assert [event.data["reason"] for event in stopping] == [f"node {busy} is drained"]
    assert seen(pool, busy).note == "drained by root"


async def test_marks_hold_through_restarts_and_silences(pool: Laboratory) -> None:
    await administration.drain(pool.context, "lab", "n1", "", "root")
    await administration.cordon(pool.context, "lab", "n2", "", "root")
    await pool.restart()
    assert [seen(pool, name).state for name in ("n1", "n2")] == [NodeState.DRAINING, NodeState.CORDONED]
    pool.backend.leave("n2")
    assert (seen(pool, "n2").state, seen(pool, "n2").note) == (NodeState.UNREACHABLE, "cordoned by root")
    pool.backend.come_back("n2")
    assert seen(pool, "n2").state is NodeState.CORDONED


async def test_a_name_that_two_clusters_have_needs_its_cluster(pool: Laboratory) -> None:
    pool.context.backends["attic"] = FakeBackend([replace(a_node("n1"), cluster="attic")])
    try:
        with pytest.raises(Conflict, match="clusters lab and attic have a node 'n1'") as caught:
            seen(pool, "n1")
        assert "lab/n1" in caught.value.hint
        assert administration.find_node(pool.context, ROOT, "n1", "attic").cluster == "attic"
        assert seen(pool, "n2").cluster == "lab"
    finally:
        del pool.context.backends["attic"]


async def test_what_admins_do_with_nodes_is_in_the_audit_trail(pool: Laboratory) -> None:
    await administration.cordon(pool.context, "lab", "n1", "loud", "root")
    await administration.drain(pool.context, "lab", "n1", "", "root", now=True)
    await administration.uncordon(pool.context, "lab", "n1", "amy")
    await administration.reconnect(pool.context, "lab", "n1", "amy")
    told = [(event.kind, event.actor, event.data["name"]) for event in await pool.events()]
    assert told == [
        ("audit.node.cordon", "root", "n1"),
        ("audit.node.drain", "root", "n1"),
        ("audit.node.uncordon", "amy", "n1"),
        ("audit.node.reconnect", "amy", "n1"),
    ]
    assert pool.backend.reconnects == ["n1"]


async def test_a_node_that_is_gone_gets_no_job_and_those_it_has_keep_their_places(pool: Laboratory) -> None:
    job_id, busy = await started(pool, "first")
    pool.backend.machines = [
        replace(n, state=NodeState.DRAINING) if n.name == busy else n for n in pool.backend.machines
    ]
    pool.backend.tell_nodes()
    second, other = await started(pool, "second")
    assert other != busy
    pool.backend.machines = [node for node in pool.backend.machines if node.name == other]
    pool.backend.tell_nodes()
    third = await pool.submit(replace(WIDE, name="third"))
    await pool.settled()
    assert (await pool.job(third)).state_name == "Queued"
    assert pool.context.clusters["lab"].used(busy)[0] == 5000
    pool.backend.end(f"{job_id}.1.worker.0")
    await pool.becomes(job_id, "Succeeded")
    pool.backend.tell_nodes()
    assert busy not in pool.context.clusters["lab"].allocations.nodes.by_name
    with pytest.raises(NotFound):
        seen(pool, busy)
    pool.backend.end(f"{second}.1.worker.0")
    await pool.becomes(third, "Running")
    assert await differences(pool.context) == []
