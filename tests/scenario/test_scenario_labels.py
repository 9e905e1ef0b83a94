"""Labels that admins give to nodes: files that change under the engine, and where jobs go by them."""

from dataclasses import replace

import pytest

from muster.domain.errors import Unplaceable
from muster.domain.specs import Together, Where
from muster.engine.lifecycle.consistency import differences
from muster.engine.requests.explaining import live_reasons
from tests.parts.building import a_node, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = pytest.mark.anyio


@pytest.fixture
async def three(lab: Laboratory) -> Laboratory:
    """Three nodes of four cores, of which nobody has said anything."""
    await lab.close()
    lab.backend.machines = [a_node(name, 4) for name in ("n1", "n2", "n3")]
    return await lab.open()


async def label(lab: Laboratory, **racks: str) -> None:
    """Written, and taken over by the engine without anybody telling it."""
    nodes = ", ".join(f"{{name: {name}, labels: {{rack: {rack}}}}}" for name, rack in racks.items())
    (lab.clusters / "nodes.yaml").write_text(f"nodes: [{nodes}]\n")
    known = {node.name: racks.get(node.name) for node in lab.backend.machines}
    await lab.until(lambda: {node.name: node.labels.get("rack") for node in lab.context.nodes("lab")} == known)


async def places(lab: Laboratory, job_id: str) -> set[str]:
    return {task.placement.node for task in await lab.tasks(job_id)}


async def test_a_job_runs_on_a_node_with_the_labels_that_it_asks_for(three: Laboratory) -> None:
    await label(three, n1="a", n2="b", n3="a")
    job_id = await three.submit(a_spec(where=Where(labels={"rack": "b"})))
    await three.becomes(job_id, "Running")
    assert await places(three, job_id) == {"n2"}
    assert await differences(three.context) == []


async def test_a_gang_stays_in_one_rack(three: Laboratory) -> None:
    await label(three, n1="a", n2="b", n3="b")
    gang = a_role(replicas=2, cpu=4)
    job_id = await three.submit(a_spec(gang, where=Where(together=Together.RACK)))
    await three.becomes(job_id, "Running")
    assert await places(three, job_id) == {"n2", "n3"}


async def test_labels_that_no_node_has_are_refused(three: Laboratory) -> None:
    await label(three, n1="a")
    with pytest.raises(Unplaceable, match="this job can never run on lab: no ready node has rack=z"):
        await three.submit(a_spec(where=Where(labels={"rack": "z"})))


async def test_a_job_waits_while_its_label_is_taken_away_and_starts_when_it_is_back(three: Laboratory) -> None:
    await label(three, n1="a", n2="b")
    full = a_role(cpu=4)
    first = await three.submit(a_spec(full, name="first", where=Where(labels={"rack": "b"})))
    await three.becomes(first, "Running")
    second = await three.submit(a_spec(full, name="second", where=Where(labels={"rack": "b"})))
    await label(three, n1="a")
    await three.settled()
    reasons = live_reasons(three.context, await three.job(second))
    assert (reasons[0].code, reasons[0].message) == ("no-node", "no ready node has rack=b")
    assert (await three.job(first)).state_name == "Running"
    await label(three, n1="a", n3="b")
    await three.becomes(second, "Running")
    assert await places(three, second) == {"n3"}
    assert await differences(three.context) == []


async def test_labels_are_there_after_a_restart_and_stay_when_a_node_comes_back(three: Laboratory) -> None:
    await label(three, n1="a", n2="b", n3="b")
    await three.restart()
    assert [node.labels for node in three.context.nodes("lab")] == [{"rack": "a"}, {"rack": "b"}, {"rack": "b"}]
    three.backend.leave()
    three.backend.come_back()
    job_id = await three.submit(a_spec(where=Where(labels={"rack": "a"})))
    await three.becomes(job_id, "Running")
    assert await places(three, job_id) == {"n1"}


async def test_a_backend_s_own_labels_stay_where_nobody_says_otherwise(three: Laboratory) -> None:
    three.backend.machines = [replace(a_node("n1"), labels={"disk": "ssd", "rack": "unknown"})]
    await label(three, n1="a")
    assert three.context.nodes("lab")[0].labels == {"disk": "ssd", "rack": "a"}


async def test_labels_of_a_node_that_is_not_there_are_told(three: Laboratory) -> None:
    sharing = three.context.config
    (three.clusters / "nodes.yaml").write_text(
        "nodes:\n- {name: n2, labels: {rack: a}}\n- {name: n33}\n- {name: gpu7}\n"
    )
    await three.until(lambda: sharing.problems)
    assert [str(problem) for problem in sharing.problems] == [
        "nodes.yaml, line 3: nodes: cluster lab has no node 'n33' (did you mean n3?)",
        "nodes.yaml, line 4: nodes: cluster lab has no node 'gpu7' (see `muster get nodes`)",
    ]
    await label(three, n2="b")
    assert sharing.problems == ()
