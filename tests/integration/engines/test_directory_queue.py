"""ADR 3 from end to end, over an engine that places tasks itself: a queue in a directory and a process of its own."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from muster.domain.errors import NotOffered, Unplaceable
from muster.domain.nodes import EngineUse, OthersUse
from muster.domain.specs import Framework, JobSpec, Priority, Role
from muster.domain.tasks import TaskWaiting
from muster.domain.virtual_clusters import Share, VirtualCluster
from muster.engine.data.logs import LogReader
from muster.engine.lifecycle.launching import compose_gang
from muster.engine.nodes import administration
from muster.engine.nodes.polling import intervals
from muster.engine.requests import commands
from muster.engine.requests.dry_running import dry_run
from muster.engine.requests.explaining import explain
from muster.engine.requests.schedule import LookAhead
from muster.engine.state.open_jobs import Entry
from muster.server.engine_nodes import allocated
from tests.parts.building import a_role, a_spec
from tests.parts.directory_queue.layout import listed, read, write
from tests.parts.directory_queue.site import CLUSTER, Site
from tests.parts.server import PATIENCE

pytestmark = pytest.mark.anyio
LONG = ("sleep", "600")


def running(command: Sequence[str], role: Role | None = None) -> Role:
    return replace(role or a_role(), command=tuple(command))


def one(command: Sequence[str] = LONG, *, cpu: float = 1, **fields: object) -> JobSpec:
    return a_spec(running(command, a_role(cpu=cpu)), **fields)  # type: ignore[arg-type]


async def log_of(site: Site, job_id: str, index: int = 0) -> str:
    task = (await site.tasks(job_id))[index]
    pieces = LogReader(site.context).pieces(task, CLUSTER, 0, follow=False)
    return "".join([piece.payload_text() async for piece in pieces])


async def test_a_gang_runs_whole_on_nodes_that_the_engine_chose(site: Site) -> None:
    script = ("sh", "-c", 'echo "$PADDLE_PSERVERS_IP_PORT_LIST"; echo "$MUSTER_NODES"; echo "$TOTAL"')
    roles = (running(script, a_role("ps", 2)), running(script, a_role("worker", 2)))
    job_id = await site.submit(a_spec(*roles, framework=Framework.PADDLE, env={"TOTAL": "4200000000"}))
    await site.becomes(job_id, "Succeeded")
    tasks = await site.tasks(job_id)
    assert sorted(task.placement.node for task in tasks) == ["c1", "c1", "c2", "c2"]
    assert all(task.handle == task.id for task in tasks)
    servers, nodes, total = (await log_of(site, job_id)).splitlines()
    addresses = [server.split(":") for server in servers.split(",")]
    assert [host for host, _ in addresses] == ["127.0.0.1"] * 2
    assert len({port for _, port in addresses}) == 2
    assert all(1024 <= int(port) <= 65535 for _, port in addresses)
    assert nodes == "127.0.0.1"
    assert total == "4200000000", "a variable of the user's that looks like a symbol stays as it is"
    assert {await log_of(site, job_id, index) for index in range(4)} == {f"{servers}\n{nodes}\n{total}\n"}


async def test_a_waiting_gang_tells_the_engines_own_reason_and_estimate(site: Site) -> None:
    site.offer({"c1": 2, "c2": 2})
    hog = await site.submit(one(cpu=2, name="hog"))
    await site.becomes(hog, "Running")
    wide = await site.submit(a_spec(running(LONG, a_role("worker", 2, cpu=2)), name="wide"))
    tasks = await site.all_tasks_are(wide, "Waiting")
    assert all(task.placement.node == "" for task in tasks)
    await site.until(lambda: _reason(site, wide) == "(Resources)")
    told = await explain(site.context, LogReader(site.context), await site.job(wide))
    assert told.summary == f"wide is waiting in the queue of {CLUSTER}: (Resources)."
    assert [reason.code for reason in told.reasons] == ["engine"]
    assert told.start is not None
    await commands.kill(site.context, hog, "amy")
    await site.becomes(wide, "Running")
    assert sorted(task.placement.node for task in await site.tasks(wide)) == ["c1", "c2"]


def _reason(site: Site, job_id: str) -> str:
    entry = site.context.open_jobs.get(job_id)
    assert entry is not None
    states = [task.state for task in entry.tasks.values()]
    return next((state.reason for state in states if isinstance(state, TaskWaiting)), "")


async def test_no_more_is_handed_over_than_the_engine_starts_soon_and_order_stays_ours(site: Site) -> None:
    jobs = [await site.submit(one(cpu=2, name=f"fill{number}")) for number in range(6)]
    for job_id in jobs[:2]:
        await site.becomes(job_id, "Running")
    await site.until(lambda: _handed_over(site) == 1)
    urgent = await site.submit(one(cpu=2, name="urgent", priority=Priority.HIGH))
    for _ in range(30):  # long enough for somebody who hands over too much; one may take the place of another meanwhile
        assert _handed_over(site) <= 1, "one node's worth waits in the engine, the rest waits here"
        await asyncio.sleep(0.01)
    await site.until(lambda: _handed_over(site) == 1)
    await commands.kill(site.context, jobs[0], "amy")
    await commands.kill(site.context, jobs[2], "amy")
    await site.becomes(urgent, "Running")
    states = [(await site.job(job_id)).state_name for job_id in jobs[3:]]
    assert "Running" not in states


def _handed_over(site: Site) -> int:
    return len(list(listed(site.layout.queue)))


async def test_tasks_count_the_whole_cpus_that_the_engine_gives_them(site: Site) -> None:
    site.backend.cpu_unit_m = 1000
    whole = r"its 5 tasks ask for 5 CPUs, and there are at most 4 in all \(each task gets whole CPUs there\)"
    with pytest.raises(Unplaceable, match=whole):
        await site.submit(a_spec(a_role("worker", 5, cpu=0.25)))
    with pytest.raises(Unplaceable, match=r"at most 4 in all$"):
        await site.submit(a_spec(a_role("worker", 5, cpu=1)))

    jobs = [await site.submit(one(cpu=0.25, name=f"job{number}")) for number in range(9)]
    await site.until(lambda: all(entry.job.state_name != "Queued" for entry in _entries(site, jobs[:6])))
    await site.until(lambda: site.context.clusters[CLUSTER].reason(jobs[6]) is not None)

    assert [(await site.job(job_id)).state_name for job_id in jobs[6:]] == ["Queued"] * 3
    assert site.context.clusters[CLUSTER].used(CLUSTER)[0] == 6000, (
        "four CPUs, and one node's worth that may wait there"
    )


async def test_the_quota_of_a_virtual_cluster_counts_the_whole_cpus_that_the_engine_gives(site: Site) -> None:
    site.backend.cpu_unit_m = 1000
    vc = VirtualCluster("vision", CLUSTER, max=Share(cpu_m=2000))
    site.context.config.virtual["vision"] = vc
    site.context.clusters[CLUSTER].configured([vc])
    whole = r"vision may use 2 CPUs and would use 3 \(each task gets whole CPUs there\)"
    with pytest.raises(Unplaceable, match=whole):
        await site.submit(a_spec(a_role("worker", 3, cpu=0.25), cluster="vision"))
    jobs = [await site.submit(one(cpu=0.25, name=f"job{number}", cluster="vision")) for number in range(3)]
    await site.until(lambda: site.context.clusters[CLUSTER].reason(jobs[2]) is not None)

    reason = site.context.clusters[CLUSTER].reason(jobs[2])
    assert reason is not None
    assert reason.message == "vision may use 2 CPUs and would use 3"


def _entries(site: Site, jobs: Sequence[str]) -> list[Entry]:
    found = [site.context.open_jobs.get(job_id) for job_id in jobs]
    return [entry for entry in found if entry is not None]


async def test_a_gang_that_waits_for_somebody_says_so_and_promises_no_start(site: Site) -> None:
    hog = await site.submit(one(cpu=2, name="hog"))
    await site.becomes(hog, "Running")
    wide = await site.submit(a_spec(running(LONG, a_role("worker", 2, cpu=2)), name="wide"))
    await site.all_tasks_are(wide, "Waiting")
    for starts_at, is_stuck, is_promised in (
        (time.time() + 600, False, True),
        (time.time() + 365 * 24 * 3600, False, False),
        (time.time() - 1, False, False),
        (time.time() + 600, True, False),
    ):
        told_by_engine = {"wait_reason": f"{starts_at}", "starts_at": starts_at, "needs_action": is_stuck}
        site.backend.told_of_waiting = told_by_engine
        told = None
        while told is None or str(starts_at) not in told.summary:
            await asyncio.sleep(0.02)
            told = await explain(site.context, LogReader(site.context), await site.job(wide))
        assert (told.start is not None) is is_promised, told
        assert ("waiting alone does not help" in told.next) is is_stuck


async def test_tasks_that_began_since_the_engine_was_asked_are_counted_on_their_nodes(site: Site) -> None:
    site.backend.cpu_unit_m = 1000
    job_id = await site.submit(one(cpu=0.25))
    await site.becomes(job_id, "Running")
    (task,) = await site.tasks(job_id)
    node = next(node for node in site.context.nodes(CLUSTER) if node.name == task.placement.node)

    assert allocated(site.context, node, EngineUse(), [task])[0] == 1000
    assert allocated(site.context, node, EngineUse(1000), [task])[0] == 1000
    others = OthersUse(cpu_m=1000)
    assert allocated(site.context, node, EngineUse(1000, others=others), [task])[0] == 2000
    assert allocated(site.context, node, EngineUse(2000, others=OthersUse(cpu_m=2000)), [task])[0] == 2000, (
        "all that it has"
    )


async def test_what_others_use_there_is_not_counted_upon(site: Site) -> None:
    site.offer({"c1": 2, "c2": 2}, {"c1": 2, "c2": 2})
    await site.until(lambda: (pool := site.backend.pool()) is not None and pool.available.cpu_m == 0)
    jobs = [await site.submit(one(cpu=2, name=f"job{number}")) for number in range(3)]
    await site.until(lambda: _handed_over(site) == 1)
    await asyncio.sleep(0.2)
    assert [(await site.job(job_id)).state_name for job_id in jobs] == ["Starting", "Queued", "Queued"]
    site.offer({"c1": 2, "c2": 2})
    for job_id in jobs[:2]:
        await site.becomes(job_id, "Running")


async def test_an_engine_is_asked_while_a_job_waits_for_room_there_and_not_when_nobody_waits(site: Site) -> None:
    """What others use may be known only by asking, also while the engine has no task of ours."""
    site.context.poll_waiting_s = 0.05
    site.offer({"c1": 2, "c2": 2}, {"c1": 2, "c2": 2})
    await site.until(lambda: (pool := site.backend.pool()) is not None and pool.available.cpu_m == 0)
    assert intervals(site.context) == {}
    wide = await site.submit(a_spec(running(LONG, a_role("worker", 4))))
    before = site.backend.asked
    await site.until(lambda: site.backend.asked >= before + 3)
    assert (await site.job(wide)).state_name == "Queued"
    await commands.kill(site.context, wide, "amy")
    await site.until(lambda: intervals(site.context) == {})


async def test_a_restarted_server_adopts_what_runs_and_what_waits(site: Site) -> None:
    runs = await site.submit(one(("sh", "-c", "echo once; sleep 600"), cpu=2, name="runs"))
    also = await site.submit(one(cpu=2, name="also"))
    waits = await site.submit(one(cpu=2, name="waits"))
    for job_id in (runs, also):
        await site.becomes(job_id, "Running")
    await site.all_tasks_are(waits, "Waiting")
    await site.restart()
    assert [(await site.job(job_id)).attempt for job_id in (runs, also, waits)] == [1, 1, 1]
    await commands.kill(site.context, also, "amy")
    await site.becomes(waits, "Running", attempt=1)
    await site.becomes(runs, "Running", attempt=1)
    assert await log_of(site, runs) == "once\n"


async def test_what_ended_while_no_server_ran_is_learnt_afterwards(site: Site) -> None:
    job_id = await site.submit(one(("sh", "-c", "sleep 0.5; exit 3")))
    await site.becomes(job_id, "Running")
    await site.close()
    record, task = site.layout.gangs / f"{job_id}.1.json", f"{job_id}.1.worker.0"
    await site.until(lambda: read(record)["tasks"][task]["phase"] == "ended")
    await site.open()
    async with asyncio.timeout(PATIENCE * 30):
        while not (job := await site.job(job_id)).is_final:
            await asyncio.sleep(0.02)
    assert job.state_name == "Failed"
    assert (await site.tasks(job_id))[0].exit_code == 3


async def test_waiting_and_running_gangs_are_cancelled(site: Site) -> None:
    first, second = [await site.submit(a_spec(running(LONG, a_role("worker", 4)), name=name)) for name in ("a", "b")]
    await site.becomes(first, "Running")
    for job_id in (second, first):
        await commands.kill(site.context, job_id, "amy")
        job = await site.becomes(job_id, "Cancelled")
        assert job.attempt <= 1
    assert _handed_over(site) == 0


async def test_a_gang_that_vanishes_is_lost_and_tried_again(site: Site) -> None:
    job_id = await site.submit(one())
    await site.becomes(job_id, "Running")
    (site.layout.gangs / f"{job_id}.1.json").unlink()
    await site.becomes(job_id, "Running", attempt=2)
    (lost,) = await site.tasks(job_id, 1)
    assert lost.state_name == "Lost"


async def test_an_engine_that_does_not_answer_loses_nothing(site: Site) -> None:
    job_id = await site.submit(one())
    await site.becomes(job_id, "Running")
    site.layout.down.touch()
    later = await site.submit(one(name="later"))
    await site.becomes(later, "Starting")
    await asyncio.sleep(0.3)
    assert (await site.job(job_id)).state_name == "Running"
    site.layout.down.unlink()
    site.backend._listener.reconnected(CLUSTER, None)  # type: ignore[union-attr]
    await site.becomes(later, "Running", attempt=1)
    assert [task.attempt for task in await site.tasks(job_id)] == [1]


async def test_a_gang_is_handed_over_once_however_often_it_is_launched(site: Site) -> None:
    job_id = await site.submit(one(("sh", "-c", "echo x; sleep 600")))
    await site.becomes(job_id, "Running")
    entry = site.context.open_jobs.get(job_id)
    assert entry is not None
    launch = compose_gang(site.context, entry.job, entry.current_tasks())
    for _ in range(3):
        await site.backend.launch(launch)
    async with asyncio.timeout(PATIENCE * 30):
        while not await log_of(site, job_id):
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)
    assert await log_of(site, job_id) == "x\n"


async def test_what_the_engine_rejects_fails_in_its_words(site: Site) -> None:
    job_id = await site.submit(one(env={"no-such-partition": "1"}))
    async with asyncio.timeout(PATIENCE * 30):
        while not (job := await site.job(job_id)).is_final:
            await asyncio.sleep(0.02)
    assert "no such partition" in job.reason


async def test_what_could_never_run_is_refused_with_the_most_there_is(site: Site) -> None:
    await site.until(lambda: site.backend.pool() is not None)
    with pytest.raises(Unplaceable, match="a task of worker asks for 3 CPUs, and there are at most 2 on one node"):
        await site.submit(one(cpu=3))
    with pytest.raises(Unplaceable, match="its 5 tasks ask for 5 CPUs, and there are at most 4 in all"):
        await site.submit(a_spec(a_role("worker", 5)))


async def test_an_engine_that_has_not_said_what_it_has_refuses_nobody(site: Site) -> None:
    write(site.layout.nodes, {})
    await site.until(lambda: site.backend.pool() is None)
    job_id = await site.submit(one(cpu=3))
    assert (await site.job(job_id)).state_name == "Queued"
    site.offer({"c1": 4})
    await site.becomes(job_id, "Running")


async def test_a_dry_run_shows_what_the_engine_would_be_given(site: Site) -> None:
    found = await dry_run(site.context, LookAhead(), a_spec(a_role("worker", 2), framework=Framework.TORCH), "amy")
    (file,) = found.rendered.files
    assert file.name == f"{found.job.id}.1.json"
    assert [task["env"]["RANK"] for task in json.loads(file.content)["tasks"]] == ["0", "1"]
    assert _handed_over(site) == 0


async def test_what_an_engine_does_not_offer_is_said_by_name(site: Site) -> None:
    with pytest.raises(NotOffered) as refused:
        await administration.drain(site.context, CLUSTER, "c1", "", "root")
    assert (refused.value.capability, refused.value.cluster) == ("node-administration", CLUSTER)
