"""What one user may ask for: tasks of a job, open jobs, bytes of packages."""

import hashlib
from dataclasses import replace

import pytest

from muster.domain.errors import Invalid, TooLarge, TooMany, Unplaceable
from muster.domain.limits import Limits
from muster.domain.resources import LEAST_CPU_M
from muster.engine.context import Context
from muster.engine.data.packages import PackageStore
from muster.engine.requests import changing, commands
from tests.parts.building import a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def test_a_job_of_a_hundred_thousand_tasks_that_ask_for_nothing_is_refused(lab: Laboratory) -> None:
    roles = [a_role(f"role{number}", 4096, cpu=0) for number in range(32)]
    with pytest.raises(Invalid) as refused:
        await lab.submit(a_spec(*roles))
    assert [problem.message for problem in refused.value.problems] == ["ask for 131072 tasks"]


async def test_a_job_may_not_grow_beyond_the_limit_either(lab: Laboratory) -> None:
    with pytest.raises(Invalid):
        await lab.submit(a_spec(a_role(replicas=1, least=1, most=100_000)))


async def test_a_changed_job_may_not_have_too_many_tasks(lab: Laboratory) -> None:
    job, _ = await commands.submit(lab.context, a_spec(held=True), "amy")
    with pytest.raises(Invalid):
        await changing.change(lab.context, job.id, "amy", lambda spec: replace(spec, roles=(a_role(replicas=5000),)))


async def test_tasks_that_ask_for_no_cpu_do_not_fit_on_a_node_without_end(lab: Laboratory) -> None:
    cores = sum(node.capacity.cpu_m for node in lab.backend.nodes())
    with pytest.raises(Unplaceable):
        await lab.submit(a_spec(a_role(replicas=cores // LEAST_CPU_M + 1, cpu=0)))
    job_id = await lab.submit(a_spec(a_role(replicas=2, cpu=0)))
    await lab.becomes(job_id, "Running")


async def test_a_user_has_a_bounded_number_of_open_jobs_and_ended_ones_make_room(lab: Laboratory) -> None:
    lab.context.limits = Limits(open_jobs_per_user=2)
    made = [await commands.submit(lab.context, a_spec(name=f"j{n}", held=True), "amy") for n in range(2)]
    with pytest.raises(TooMany, match="amy has 2 jobs that have not ended"):
        await commands.submit(lab.context, a_spec(name="more", held=True), "amy")
    await commands.submit(lab.context, a_spec(name="other", held=True), "bob")
    await commands.kill(lab.context, made[0][0].id, "amy")
    await commands.submit(lab.context, a_spec(name="more", held=True), "amy")
    with pytest.raises(TooMany):
        await commands.submit_all(lab.context, [a_spec(name=f"bulk{n}") for n in range(2)], "bob")


async def test_the_number_of_open_jobs_is_right_after_a_restart(lab: Laboratory) -> None:
    await commands.submit(lab.context, a_spec(held=True), "amy")
    await lab.restart()
    assert lab.context.open_jobs.count_of("amy") == 1


async def test_packages_and_unfinished_uploads_of_a_user_have_a_bounded_size(bare_context: Context) -> None:
    bare_context.limits = Limits(package_bytes_per_user=100)
    packages = PackageStore(bare_context, 1000)
    first, second = b"a" * 60, b"b" * 60
    digests = [hashlib.sha256(data).hexdigest() for data in (first, second)]
    await packages.receive(digests[0], "amy", offset=0, size=60, data=first[:30])
    with pytest.raises(TooLarge):
        await packages.receive(digests[1], "amy", offset=0, size=80, data=second[:30])
    await packages.receive(digests[0], "amy", offset=30, size=60, data=first[30:])
    with pytest.raises(TooLarge, match="amy has packages of 60 bytes, 100 are allowed"):
        await packages.receive(digests[1], "amy", offset=0, size=60, data=second)
    await packages.receive(digests[1], "bob", offset=0, size=60, data=second)
    assert await packages.bytes_of("bob") == 60
