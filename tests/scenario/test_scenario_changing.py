"""Changing what a job asks for while it waits: by the rules of a submission, recorded, and only then."""

from dataclasses import replace

import pytest

from muster.domain.errors import Conflict, Forbidden, Invalid, Unplaceable
from muster.domain.jobs import Held, Job, Queued
from muster.domain.specs import Dependency, JobSpec, Priority, SecretUse
from muster.engine.requests import commands
from muster.engine.requests.changing import bump, change, move_to
from muster.engine.requests.explaining import live_reason
from muster.ports.store import JobFilter, RequestKey
from muster.wire.spec_patch import changed_spec
from muster.wire.specs import read_spec
from tests.parts.building import a_ps_spec, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def a_waiting_job(lab: Laboratory, **fields: object) -> str:
    await lab.becomes(await lab.submit(a_spec(a_role(cpu=8), name="in-the-way")), "Running")
    return await lab.submit(a_spec(a_role(cpu=8), **fields))  # type: ignore[arg-type]


async def set_values(lab: Laboratory, job_id: str, values: dict[str, object], actor: str = "amy") -> Job:
    return await change(lab.context, job_id, actor, lambda spec: changed_spec(spec, values), changed=sorted(values))


async def with_virtual_clusters(lab: Laboratory) -> None:
    before = lab.context.config.virtual
    text = "name: vision\n---\n{name: small, priorities: [low, normal]}\n---\n{name: closed, users: [bob]}\n"
    (lab.clusters / "vcs.yaml").write_text(text)
    await lab.until(lambda: lab.context.config.virtual is not before)


async def test_a_waiting_job_that_asks_for_less_may_start(lab: Laboratory) -> None:
    in_the_way = await lab.submit(a_spec(a_role(cpu=6), name="in-the-way"))
    await lab.becomes(in_the_way, "Running")
    job_id = await lab.submit(a_spec(a_role(cpu=8), labels={"team": "ads"}))
    changed = await set_values(lab, job_id, {"resources.cpu": 2, "labels.team": "maps"})
    assert changed.version == 2
    job = await lab.becomes(job_id, "Running")
    assert job.spec.roles[0].resources.cpu_m == 2000
    assert [one.id for one in (await lab.context.store.jobs(JobFilter(labels=(("team", "maps"),)), limit=5)).items] == [
        job_id
    ]
    audit = [event for event in await lab.events(job_id) if event.kind == "audit.job.change"]
    assert [(event.actor, event.data["changed"]) for event in audit] == [("amy", ["labels.team", "resources.cpu"])]


async def test_a_changed_job_keeps_its_place_and_survives_a_restart(lab: Laboratory) -> None:
    job_id = await a_waiting_job(lab)
    lab.pass_time(50.0)
    changed = await set_values(lab, job_id, {"timeLimit": "2h"})
    assert changed.state == Queued(lab.now - 50.0)
    await lab.restart()
    assert await lab.job(job_id) == changed
    assert lab.context.clusters["lab"].waiting == 1


async def test_a_held_job_is_changed_and_stays_held(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(held=True))
    changed = await set_values(lab, job_id, {"replicas": 3})
    assert (changed.state, changed.spec.task_count) == (Held(lab.now, "amy"), 3)
    assert lab.context.clusters["lab"].waiting == 0
    await commands.resume(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Running")
    assert len(lab.backend.of(job_id)) == 3


async def test_a_job_that_runs_is_left_alone(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    before = await lab.becomes(job_id, "Running")
    with pytest.raises(Conflict, match="is Running and can be changed only while it waits"):
        await set_values(lab, job_id, {"replicas": 3})
    with pytest.raises(Conflict):
        await bump(lab.context, job_id, "amy", Priority.HIGH, is_admin=False)
    assert await lab.job(job_id) == before


async def test_an_ended_job_cannot_be_changed(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(held=True))
    await commands.kill(lab.context, job_id, "amy")
    with pytest.raises(Conflict, match="already ended"):
        await set_values(lab, job_id, {"replicas": 3})


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"resources.cpu": 80}, Unplaceable),
        ({"resources.cpu": "many"}, Invalid),
        ({"nonsense": 1}, Invalid),
        ({"name": "other"}, Invalid),
        ({"cluster": "moon"}, Invalid),
        ({"after": [{"job": "nobody"}]}, Invalid),
        ({"resources.cpu.more": 1}, Invalid),
        ({}, Invalid),
    ],
)
async def test_what_could_not_be_submitted_changes_nothing(
    lab: Laboratory, values: dict[str, object], error: type[Exception]
) -> None:
    job_id = await a_waiting_job(lab)
    before = await lab.job(job_id)
    with pytest.raises(error):
        await set_values(lab, job_id, values)
    assert await lab.job(job_id) == before
    assert lab.context.clusters["lab"].waiting == 1


def test_a_key_without_its_role_means_the_only_one_or_the_one_with_gpus() -> None:
    worker = a_role("worker", 2, gpus=4)
    assert changed_spec(a_spec(worker), {"replicas": 3}).role("worker").replicas == 3
    both = a_spec(a_role("ps", 1), worker)
    assert changed_spec(both, {"gpus": 2}).role("worker").resources.gpus == 2
    with pytest.raises(Invalid, match="replicas of which role"):
        changed_spec(both, {"replicas": 3})
    assert changed_spec(both, {"roles.ps.replicas": 3}).role("ps").replicas == 3


def test_a_ps_job_with_more_workers_ends_when_all_of_them_have() -> None:
    changed = changed_spec(a_ps_spec(ps=1, workers=2), {"roles.worker.replicas": 4})
    assert changed.role("worker").completion.min_succeeded == 4


def test_only_what_is_named_changes() -> None:
    spec = a_spec(
        a_role(gpus=1, models=("A100", "H100"), least=1, most=4), after=(Dependency("abc"),), preemptible=False
    )
    changed = changed_spec(spec, {"priority": "high"})
    assert changed == replace(spec, priority=Priority.HIGH)


async def test_a_bumped_job_goes_first(lab: Laboratory) -> None:
    await a_waiting_job(lab, name="first")
    lab.pass_time(1.0)
    second = await lab.submit(a_spec(a_role(cpu=8), name="second"))
    bumped = await bump(lab.context, second, "amy", Priority.URGENT, is_admin=False)
    assert bumped.spec.priority is Priority.URGENT
    in_the_way = next(task_id for task_id, task in lab.backend.tasks.items() if task.runs)
    lab.backend.end(in_the_way)
    await lab.becomes(second, "Running")


async def test_an_owner_is_bumped_as_far_as_the_virtual_cluster_allows_and_by_an_admin_further(lab: Laboratory) -> None:
    await with_virtual_clusters(lab)
    job_id = await lab.submit(a_spec(cluster="small", held=True))
    with pytest.raises(Invalid) as caught:
        await bump(lab.context, job_id, "amy", Priority.URGENT, is_admin=False)
    assert caught.value.problems[0].path == "priority"
    assert (await bump(lab.context, job_id, "root", Priority.URGENT, is_admin=True)).spec.priority is Priority.URGENT


async def test_a_job_is_moved_to_another_virtual_cluster_by_its_rules(lab: Laboratory) -> None:
    await with_virtual_clusters(lab)
    job_id = await lab.submit(a_spec(cluster="vision", priority=Priority.HIGH, held=True))
    assert (await lab.job(job_id)).vc == "vision"
    with pytest.raises(Invalid, match="small cannot run this job"):
        await move_to(lab.context, job_id, "amy", "small")
    with pytest.raises(Invalid, match="there is no cluster 'closed'"):
        await move_to(lab.context, job_id, "amy", "closed")
    await bump(lab.context, job_id, "amy", Priority.LOW, is_admin=False)
    moved = await move_to(lab.context, job_id, "amy", "small")
    assert (moved.vc, moved.cluster, moved.spec.cluster) == ("small", "lab", "small")
    assert await lab.job(job_id) == moved


async def test_a_change_of_dependencies_is_noticed(lab: Laboratory) -> None:
    first = await lab.submit(a_spec(name="first", held=True))
    second = await lab.submit(a_spec(name="second", held=True))
    train = await lab.submit(a_spec(name="train", after=(Dependency("first"),)))
    await set_values(lab, train, {"after": [{"job": "second"}]})
    reason = live_reason(lab.context, await lab.job(train))
    assert reason is not None
    assert reason.message == "waits for second (Held)"
    await commands.kill(lab.context, first, "amy")
    await lab.settled()
    assert (await lab.job(train)).state_name == "Queued"
    await commands.kill(lab.context, second, "amy")
    await lab.becomes(train, "Failed")


PARAMS = "name: a\nparams: {lr: 0.1}\ncommand: [train, '${params.lr}']\nresources: {cpu: 8}\n"


async def test_a_changed_param_reaches_the_task_even_over_a_restart(lab: Laboratory) -> None:
    in_the_way = await lab.submit(a_spec(a_role(cpu=8), name="in-the-way"))
    await lab.becomes(in_the_way, "Running")
    job_id = await lab.submit(read_spec(PARAMS))
    await lab.restart()
    await set_values(lab, job_id, {"params.lr": 0.5})
    await commands.kill(lab.context, in_the_way, "amy", 0.0)
    await lab.becomes(job_id, "Running")
    [task_id] = lab.backend.of(job_id)
    assert lab.backend.tasks[task_id].request.argv[-2:] == ("train", "0.5")


async def test_a_retry_with_a_change_is_a_new_job_and_the_first_stays_as_it_was(lab: Laboratory) -> None:
    first = await lab.submit(read_spec(PARAMS))
    await lab.becomes(first, "Running")
    await commands.kill(lab.context, first, "amy", 0.0)
    ended = await lab.becomes(first, "Cancelled")
    key = RequestKey("amy", "k", "fingerprint")

    def respec(spec: JobSpec) -> JobSpec:
        return changed_spec(spec, {"resources.cpu": 2}, {"lr": 0.01})

    again, is_new = await commands.retry(lab.context, ended, "amy", key, respec)
    assert (is_new, again.spec.roles[0].command[-1], again.spec.roles[0].resources.cpu_m) == (True, "0.01", 2000)
    repeated, is_new_again = await commands.retry(lab.context, ended, "amy", key, respec)
    assert (repeated.id, is_new_again) == (again.id, False)
    assert (await lab.job(first)).spec == read_spec(PARAMS + "cluster: lab\n")


async def test_only_the_owner_changes_what_gets_secrets_when_it_runs_again(lab: Laboratory) -> None:
    job = await lab.job(await lab.submit(a_spec(held=True)))
    await commands.kill(lab.context, job.id, "amy")
    ended = await lab.becomes(job.id, "Cancelled")
    with pytest.raises(Forbidden, match="gets secrets of amy"):
        await commands.retry(
            lab.context, ended, "root", None, lambda spec: replace(spec, secrets=(SecretUse("wandb", "KEY"),))
        )
