"""Live pages on a real engine: what they are told, how often, and what becomes of those that do not keep up."""

import asyncio
from dataclasses import replace

import pytest

from muster.domain.access import Access
from muster.engine.requests import commands
from muster.ports.store import Change
from muster.server.live import readers
from muster.server.live.broadcaster import Broadcaster
from muster.server.live.recent_jobs import MAX_JOBS
from muster.server.node_views import seen_node
from tests.parts.building import a_node, a_role, a_spec
from tests.parts.laboratory import Laboratory
from tests.parts.live_page import open_page, services_of, somebody

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
ROOT = somebody("root", is_admin=True)
AMY = somebody("amy")
BOB = somebody("bob")


async def test_changes_that_come_together_are_told_once_and_with_the_same_bytes(lab: Laboratory) -> None:
    parts = services_of(lab)
    live = Broadcaster(parts)
    async with open_page(parts, live, ROOT, "jobs") as one, open_page(parts, live, ROOT, "jobs") as other:
        ids = [await lab.submit(a_spec(name=f"j{n}", held=True)) for n in range(20)]
        for job_id in ids:
            await commands.kill(lab.context, job_id, "amy")
        await lab.until(lambda: len(one.jobs) == 20 and {job["state"] for job in one.jobs.values()} == {"Cancelled"})
        await lab.until(lambda: other.text == one.text)
    assert len(one.of("jobs")) < 10, "there were 40 changes"
    assert one.jobs[ids[0]] == parts.job_view(ROOT, await lab.job(ids[0]))


async def test_the_page_of_a_job_is_told_each_event_once_and_nothing_of_others(lab: Laboratory) -> None:
    parts = services_of(lab)
    live = Broadcaster(parts)
    job_id = await lab.submit(a_spec(name="mine", held=True))
    async with open_page(parts, live, AMY, f"job:{job_id}") as page:
        await lab.submit(a_spec(name="another"))
        await commands.resume(lab.context, job_id, "amy")
        await lab.becomes(job_id, "Running")
        lab.backend.end(lab.backend.of(job_id)[0])
        await lab.until(lambda: page.of("job") and page.of("job")[-1]["job"]["state"] == "Succeeded")
    seen = [event["seq"] for data in page.of("job") for event in data["events"]]
    stored = [event.seq for event in await lab.events(job_id)]
    assert seen == [seq for seq in stored if seq >= seen[0]]
    assert {data["id"] for data in page.of("job")} == {job_id}


async def test_why_a_job_waits_is_told_to_its_page_without_an_event(lab: Laboratory) -> None:
    parts = services_of(lab)
    live = Broadcaster(parts)
    await lab.becomes(await lab.submit(a_spec(a_role(cpu=8), name="in-the-way")), "Running")
    job_id = await lab.submit(a_spec(name="waits"))
    await lab.becomes(job_id, "Queued")
    async with (
        open_page(parts, live, AMY, f"job:{job_id}") as page,
        open_page(parts, live, AMY, f"job:{job_id}") as two,
    ):
        await lab.until(lambda: page.of("job") and two.of("job"))
    assert page.of("job")[-1]["job"]["reason"]
    assert page.of("job")[-1] == two.of("job")[-1]


async def test_a_reader_that_does_not_keep_up_is_told_to_ask_again_and_goes_on(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "MAX_WAITING_BYTES", 4096)
    parts = services_of(lab)
    live = Broadcaster(parts)
    async with open_page(parts, live, AMY, "jobs", is_slow=True) as slow, open_page(parts, live, AMY, "jobs") as quick:
        for number in range(12):
            job_id = await lab.submit(a_spec(name=f"j{number}", held=True))
            await lab.until(lambda job_id=job_id: job_id in quick.jobs)  # type: ignore[misc]
        assert slow.reader.since is None
        reading = asyncio.create_task(slow.read())
        await lab.until(lambda: slow.of("resync"))
        last = await lab.submit(a_spec(name="after", held=True))
        await lab.until(lambda: last in slow.jobs)
        reading.cancel()
    assert not quick.of("resync")
    assert list(slow.jobs) == [last]


async def test_very_many_changes_at_once_are_told_as_worth_asking_again(lab: Laboratory) -> None:
    parts = services_of(lab)
    live = Broadcaster(parts)
    specs = [a_spec(name=f"j{number}", held=True) for number in range(MAX_JOBS + 1)]
    async with open_page(parts, live, AMY, "jobs") as page:
        await commands.submit_all(lab.context, specs, "amy")
        await lab.until(lambda: page.of("changed"))
        await lab.until(lambda: page.last_id == lab.context.hub.last_seq)
    assert page.of("changed") == [{"topics": ["jobs"]}]
    assert not page.jobs


async def test_a_reader_that_comes_back_is_told_what_it_missed_or_to_ask_again(lab: Laboratory) -> None:
    parts = services_of(lab)
    live = Broadcaster(parts)
    first = await lab.submit(a_spec(name="first", held=True))
    async with open_page(parts, live, AMY, "jobs") as page:
        second = await lab.submit(a_spec(name="second", held=True))
        await lab.until(lambda: second in page.jobs)
    await commands.kill(lab.context, first, "amy")
    async with open_page(parts, live, AMY, f"jobs,job:{first},queue", after=page.last_id) as back:
        await lab.until(lambda: back.of("jobs") and back.of("job") and back.of("changed"))
        assert list(back.jobs) == [first]
        assert [event["kind"] for event in back.of("job")[0]["events"]][-1] == "job.cancelled"
        assert back.of("changed") == [{"topics": ["queue"]}]
    for number in range(MAX_JOBS + 1):
        await lab.submit(a_spec(name=f"j{number}", held=True))
    async with open_page(parts, live, AMY, "jobs", after=page.last_id) as late:
        await lab.until(lambda: late.of("resync"))
    assert not late.jobs


async def test_a_new_server_tells_what_happened_under_the_old_one(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(name="before", held=True))
    last = lab.context.hub.last_seq
    await commands.kill(lab.context, job_id, "amy")
    await lab.restart()
    parts = services_of(lab)
    async with open_page(parts, Broadcaster(parts), AMY, f"jobs,job:{job_id}", after=last) as page:
        await lab.until(lambda: page.of("jobs") and page.of("job"))
    assert page.jobs[job_id]["state"] == "Cancelled"
    assert page.of("job")[0]["events"][-1]["kind"] == "job.cancelled"


async def test_nodes_are_told_when_their_allocation_or_state_changes_to_those_who_may_see_them(lab: Laboratory) -> None:
    parts = services_of(lab)
    live = Broadcaster(parts)
    await lab.context.store.apply(Change(new_user=AMY.user))
    lab.backend.settings = replace(lab.backend.settings, access=Access(("amy",)))
    async with (
        open_page(parts, live, AMY, "nodes") as amy,
        open_page(parts, live, BOB, "nodes") as bob,
        open_page(parts, live, ROOT, "nodes") as root,
    ):
        job_id = await lab.submit(a_spec(name="busy"))
        await lab.becomes(job_id, "Running")
        await lab.until(lambda: amy.nodes.get("n1", {}).get("tasks") == 1 and "n1" in root.nodes)
        lab.backend.end(lab.backend.of(job_id)[0])
        await lab.becomes(job_id, "Succeeded")
        await lab.until(lambda: amy.nodes["n1"]["tasks"] == 0)
        lab.backend.machines.append(a_node("n9"))
        lab.backend.tell_nodes()
        await lab.until(lambda: "n9" in amy.nodes)
        del lab.backend.machines[-1]
        lab.backend.tell_nodes()
        await lab.until(
            lambda: {"cluster": "lab", "name": "n9"} in [one for data in amy.of("nodes") for one in data["gone"]]
        )
    assert not bob.told
    (node,) = [node for node in lab.context.nodes("lab") if node.name == "n1"]
    assert amy.nodes["n1"] == seen_node(AMY, parts, node)


async def test_whoever_may_see_other_clusters_than_before_asks_again(lab: Laboratory) -> None:
    parts = services_of(lab)
    async with open_page(parts, Broadcaster(parts), AMY, "nodes") as page:
        lab.backend.settings = replace(lab.backend.settings, access=Access(("bob",)))
        await lab.until(lambda: page.of("resync"))
    assert not page.of("nodes")


async def test_nothing_runs_while_nobody_looks(lab: Laboratory) -> None:
    parts = services_of(lab)
    async with open_page(parts, Broadcaster(parts), AMY, "jobs,nodes"):
        await lab.until(lambda: any(task.get_name() == "live streams" for task in asyncio.all_tasks()))
    await lab.until(lambda: not any(task.get_name() == "live streams" for task in asyncio.all_tasks()))
