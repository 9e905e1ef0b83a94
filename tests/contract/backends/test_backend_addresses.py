"""`assign` and the capability `ports`, and what `render` says of a launch."""

import pytest

from muster.domain.specs import Framework, Runtime
from muster.ports.backend import Phase
from tests.contract.backends.observing import Site, named, ports_of

pytestmark = pytest.mark.anyio
SECRET = "hunter2-in-a-variable"


async def test_tasks_get_as_many_ports_as_asked_and_no_port_twice(site: Site) -> None:
    gang = site.gang(3, ports=2, framework=Framework.NONE)
    tasks = await site.backend.assign(gang, ports_of(gang))
    assert [task.id for task in tasks] == [task.id for task in gang.tasks]
    assert [len(task.placement.ports) for task in tasks] == [2, 2, 2]
    assert len({port for task in tasks for port in task.placement.ports}) == 6
    assert all(task.placement.address for task in tasks)


async def test_a_gang_without_ports_is_assigned_none(site: Site) -> None:
    gang = site.gang(2)
    assert all(task.placement.ports == () for task in await site.backend.assign(gang, {}))


async def test_assigning_twice_for_one_attempt_is_safe(site: Site) -> None:
    launch = await site.launch_of(2, ports=2, framework=Framework.NONE)
    again = await site.backend.assign(launch.gang, ports_of(launch.gang))
    assert [len(task.placement.ports) for task in again] == [2, 2]
    assert set((await site.backend.launch(launch)).handles) == {task.id for task in launch.gang.tasks}
    for task in launch.gang.tasks:
        await site.observer.sees(task, Phase.RUNNING)


async def test_ports_may_be_released_twice_or_without_being_reserved(site: Site) -> None:
    ports = site.backend.capabilities.ports
    if ports is None:
        pytest.skip("this backend reserves nothing")
    gang = site.gang(2, ports=2, framework=Framework.NONE)
    await ports.release(gang)
    await site.backend.assign(gang, ports_of(gang))
    for _ in range(2):
        await ports.release(gang)
    assert [len(task.placement.ports) for task in await site.backend.assign(gang, ports_of(gang))] == [2, 2]


async def test_rendering_is_pure(site: Site) -> None:
    launch = await site.launch_of(2, ports=1)
    assert site.backend.render(launch) == site.backend.render(launch)
    answer = await site.backend.observe_all()
    for task in launch.gang.tasks:
        assert named(answer, task) is None
        assert site.harness.tasks.starts(task) == 0


@pytest.mark.parametrize("image", [None, "python:3.12"])
async def test_rendering_shows_no_value_of_a_users_variable(site: Site, image: str | None) -> None:
    launch = await site.launch_of(env={"PASSWORD": SECRET}, runtime=Runtime(image=image))
    assert launch.requests[0].env["PASSWORD"] == SECRET
    rendered = site.backend.render(launch)
    assert SECRET not in repr(rendered)
    assert set(rendered.containers) <= {launch.gang.tasks[0].id}
