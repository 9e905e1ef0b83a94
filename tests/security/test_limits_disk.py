"""The logs and outputs that the server keeps for one user are bounded, and deleting jobs makes room."""

import pytest

from muster.domain.errors import TooLarge
from muster.domain.limits import Limits
from muster.engine.data.disk_usage import measure_all, measure_changed
from muster.engine.requests import commands
from muster.engine.requests.dry_running import dry_run
from muster.engine.requests.schedule import LookAhead
from tests.parts.building import a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def ended(lab: Laboratory, name: str, owner: str, log: int, output: int) -> str:
    """An ended job with so many bytes of data."""
    job, _ = await commands.submit(lab.context, a_spec(name=name, held=True), owner)
    await commands.kill(lab.context, job.id, owner)
    for folder, size in ((lab.context.logs, log), (lab.context.outputs, output)):
        path = folder / job.id / "1.worker-0"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * size)
    lab.context.kept_data.changed(await lab.job(job.id))
    return job.id


async def test_a_user_with_too_much_data_submits_nothing_more_until_something_is_deleted(lab: Laboratory) -> None:
    lab.context.limits = Limits(log_bytes_per_user=100, output_bytes_per_user=1000)
    small = await ended(lab, "small", "amy", 40, 10)
    large = await ended(lab, "large", "amy", 61, 900)
    await measure_changed(lab.context)
    with pytest.raises(TooLarge, match="amy keeps 101 B of logs, 100 B are allowed") as refused:
        await lab.submit(a_spec())
    assert refused.value.hint.endswith("the largest: large (961 B), small (50 B)")
    with pytest.raises(TooLarge):
        await commands.submit_all(lab.context, [a_spec()], "amy")
    with pytest.raises(TooLarge):
        await dry_run(lab.context, LookAhead(), a_spec(), "amy")
    await commands.submit(lab.context, a_spec(name="of another"), "bob")
    await commands.delete(lab.context, await lab.job(small), "amy")
    await lab.submit(a_spec())
    assert lab.context.kept_data.output_bytes("amy") == 900
    lab.context.limits = Limits(output_bytes_per_user=899)
    with pytest.raises(TooLarge, match="outputs"):
        await lab.submit(a_spec(name="second"))
    await commands.delete(lab.context, await lab.job(large), "amy")
    assert lab.context.kept_data.output_bytes("amy") == 0


async def test_running_jobs_continue(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(name="running"))
    await lab.becomes(job_id, "Running")
    await ended(lab, "large", "amy", 61, 900)
    lab.context.limits = Limits(log_bytes_per_user=1)
    await measure_changed(lab.context)
    with pytest.raises(TooLarge):
        await lab.submit(a_spec(name="new"))
    lab.backend.end(f"{job_id}.1.worker.0")
    await lab.becomes(job_id, "Succeeded")


async def test_data_of_earlier_runs_counts_after_a_restart(lab: Laboratory) -> None:
    await ended(lab, "old", "amy", 30, 7)
    await lab.restart()
    await measure_all(lab.context)
    assert (lab.context.kept_data.log_bytes("amy"), lab.context.kept_data.output_bytes("amy")) == (30, 7)


async def test_data_that_is_removed_while_it_is_measured_does_not_count(lab: Laboratory) -> None:
    job_id = await ended(lab, "gone", "amy", 30, 7)
    jobs = lab.context.kept_data.to_measure()
    assert job_id in {job.id for job in jobs}
    await commands.delete(lab.context, await lab.job(job_id), "amy")
    await measure_changed(lab.context)
    assert lab.context.kept_data.log_bytes("amy") == 0
