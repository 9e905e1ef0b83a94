"""The schedule: what runs now, what ran, what is expected and what is reserved."""

import pytest

from muster.domain.usage.usage_report import ReportWindow
from muster.engine.requests.schedule import LookAhead, Spans, reserved_on, task_spans
from tests.parts.building import GIB, a_node, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def spans(lab: Laboratory, limit: int = 100) -> Spans:
    return await task_spans(lab.context, ReportWindow(0.0, lab.now + 1.0), ["lab"], limit)


async def test_a_lane_shows_the_ended_and_the_running_task_of_one_gpu(lab: Laboratory) -> None:
    lab.backend.machines[:] = [a_node("n1", 8, 32 * GIB, "A100", "A100")]
    lab.backend.tell_nodes()
    first = await lab.submit(a_spec(a_role(gpus=2), name="first"))
    await lab.becomes(first, "Running")
    began = lab.now
    lab.pass_time(60.0)
    lab.backend.end(f"{first}.1.worker.0")
    await lab.becomes(first, "Succeeded")
    second = await lab.submit(a_spec(a_role(gpus=1), name="second", time_limit_s=600.0))
    await lab.becomes(second, "Running")
    found = await spans(lab)
    assert [(one.job, one.devices, one.began_at, one.ended_at) for one in found.items] == [
        ("second", (0,), lab.now, None),
        ("first", (0, 1), began, began + 60.0),
    ]
    assert [one.ends_by for one in found.items] == [lab.now + 600.0, None]
    assert (await spans(lab, limit=1)).is_cut


async def test_a_task_that_is_still_starting_has_its_node_already(lab: Laboratory) -> None:
    lab.backend.auto_start = False
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Starting")
    (span,) = (await spans(lab)).items
    assert (span.node, span.ended_at, span.state) == ("n1", None, "Launching")


async def test_the_next_starts_follow_from_time_limits(lab: Laboratory) -> None:
    lab.backend.machines[:] = [a_node("n1", 8, 32 * GIB, "A100")]
    lab.backend.tell_nodes()
    running = await lab.submit(a_spec(a_role(gpus=1), name="running", time_limit_s=100.0))
    await lab.becomes(running, "Running")
    waiting = [
        await lab.submit(a_spec(a_role(gpus=1), name=f"next-{number}", time_limit_s=50.0)) for number in range(2)
    ]
    await lab.settled()
    ahead = LookAhead()
    expected = await ahead.expected(lab.context, "lab")
    now = lab.now
    assert [(one.job_id, one.at - now, (one.ends_at or 0.0) - now, one.nodes) for one in expected] == [
        (waiting[0], 100.0, 150.0, ("n1",)),
        (waiting[1], 150.0, 200.0, ("n1",)),
    ]
    assert await ahead.expected(lab.context, "lab") == expected, "it is worked out once for all who ask"


async def test_nothing_is_expected_where_nothing_waits(lab: Laboratory) -> None:
    assert await LookAhead().expected(lab.context, "lab") == []
    assert reserved_on(lab.context, "lab") == []
