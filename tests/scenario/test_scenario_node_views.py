"""What people see of nodes, where there are very many nodes and very many jobs."""

import pytest

from muster.engine.state.open_jobs import OpenJobs
from muster.server.node_views import seen_node, seen_nodes
from muster.server.own_limits import own_limits
from tests.parts.building import a_node, a_spec
from tests.parts.laboratory import Laboratory
from tests.parts.live_page import services_of, somebody

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
ROOT = somebody("root", is_admin=True)


async def test_jobs_are_not_looked_through_anew_for_each_node_of_a_list(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand nodes and ten thousand waiting jobs would stop the server for a second and a half each time."""
    parts = services_of(lab)
    lab.backend.machines.append(a_node("n9"))
    lab.backend.tell_nodes()
    job_id = await lab.submit(a_spec(name="runs"))
    await lab.becomes(job_id, "Running")
    nodes = lab.context.nodes("lab")
    one_by_one = [seen_node(ROOT, parts, node) for node in nodes]

    def anew(_: OpenJobs, cluster: str, node: str) -> None:
        pytest.fail(f"all jobs are looked through for {node} of {cluster}")

    monkeypatch.setattr(OpenJobs, "tasks_on", anew)
    assert seen_nodes(ROOT, parts, nodes) == one_by_one
    assert sum(node["tasks"] for node in one_by_one) == 1
    limits = {limit.kind: limit.used for limit in await own_limits(parts, "amy", ROOT.user)}
    assert limits["tasksPerNode/lab"] == 1
