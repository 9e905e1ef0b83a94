"""A dry run answers where a job would be placed and when it is expected to start, and changes nothing."""

import pytest

from muster.engine.requests.dry_running import DryRun, PlacedAs, dry_run
from muster.engine.requests.schedule import LookAhead
from muster.scheduling.allocations.usage_views import StartForecast
from tests.parts.building import GIB, a_node, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


def with_gpus(lab: Laboratory) -> None:
    lab.backend.machines[:] = [a_node("n1", 8, 32 * GIB, "A100"), a_node("n2", 8, 32 * GIB, "A100", "A100")]
    lab.backend.tell_nodes()


async def dry(lab: Laboratory, gpus: int, **fields: object) -> DryRun:
    return await dry_run(lab.context, LookAhead(), a_spec(a_role(gpus=gpus), **fields), "amy")  # type: ignore[arg-type]


async def test_a_job_that_fits_is_shown_on_the_devices_that_are_free_now(lab: Laboratory) -> None:
    with_gpus(lab)
    runs = await lab.submit(a_spec(a_role(gpus=1), name="runs"))
    await lab.becomes(runs, "Running")
    (taken,) = await lab.context.store.tasks(runs)
    found = await dry(lab, 1)
    (request,) = found.requests
    assert found.placed_as is PlacedAs.NOW
    assert found.supposed.start == StartForecast(lab.now, lab.now)
    assert (request.node, request.devices) != (taken.placement.node, taken.placement.devices)


async def test_a_job_that_would_wait_is_told_why_and_until_when(lab: Laboratory) -> None:
    with_gpus(lab)
    runs = await lab.submit(a_spec(a_role(gpus=2), name="runs", time_limit_s=100.0))
    await lab.becomes(runs, "Running")
    found = await dry(lab, 2)
    assert found.placed_as is PlacedAs.ALONE
    assert [request.node for request in found.requests] == ["n2"]
    assert [reason.code for reason in found.supposed.reasons] == ["no-free-gpu"]
    assert found.supposed.start == StartForecast(lab.now + 100.0, lab.now + 100.0)
    assert lab.context.clusters["lab"].waiting_order() == []


async def test_nothing_is_foretold_for_a_job_that_is_held(lab: Laboratory) -> None:
    with_gpus(lab)
    found = await dry(lab, 1, held=True)
    assert (found.supposed.start, found.supposed.reasons, found.placed_as) == (None, (), PlacedAs.ALONE)
