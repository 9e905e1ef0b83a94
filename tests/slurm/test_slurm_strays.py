"""Jobs that are over for Muster, and that come back with a controller that was killed, are ended."""

import asyncio
from pathlib import Path

import pytest

from muster.backends.slurm.backend import SlurmBackend
from muster.backends.slurm.options import SlurmOptions
from muster.backends.slurm.stray_jobs import StrayTimes
from muster.domain.clusters import PhysicalCluster
from muster.ports.backend import Backend, Phase
from muster.ports.capabilities import TaskRef
from tests.contract.backends.observing import DEADLINE_S, LOOK_EVERY_S, becomes, opened
from tests.contract.backends.slurm_harness import SlurmHarness
from tests.parts.server import MusterServer
from tests.parts.slurm import OTHER_PERSON, RealSlurm
from tests.parts.slurm_jobs import submit_noting
from tests.parts.slurm_rewinding import Rewound
from tests.parts.slurm_server import await_slurm

pytestmark = pytest.mark.slurm


def test_job_that_was_cancelled_while_it_waited_does_not_come_back_with_a_killed_controller(
    slurm_server: MusterServer, slurm: RealSlurm, tmp_path: Path
) -> None:
    other = slurm.fill()
    stopped, waiting = submit_noting(slurm_server, slurm, "stopped"), submit_noting(slurm_server, slurm, "waiting")
    stopped.await_waiting("Resources")
    waiting.await_waiting("in the queue of hpc")  # for resources, or behind the other one
    number = stopped.slurm_job
    rewound = Rewound(slurm, tmp_path, number)
    slurm_server.run("kill", stopped.id, check=True)
    assert slurm_server.wait(stopped.id)["state"] == "Cancelled"
    slurm.wait_for_job(number, "CANCELLED")

    rewound.go_back()
    await_slurm(slurm_server, "Unreachable")
    with slurm_server.frozen():  # it would end the job soon
        slurm.start_controller()
        assert slurm.job_state(number) == "PENDING"

    slurm.wait_for_job(number, "CANCELLED", timeout_s=120)
    assert (slurm.job_state(other), slurm.job_state(waiting.slurm_job)) == ("RUNNING", "PENDING")
    assert stopped.starts == {}


def test_job_is_stopped_while_there_is_no_controller_and_leaves_nothing_when_it_is_back(
    slurm_server: MusterServer, slurm: RealSlurm
) -> None:
    job = submit_noting(slurm_server, slurm, replicas=2)
    job.await_running(tasks=2)
    slurm.wait_until_saved(job.slurm_job)
    slurm.kill_controller()

    slurm_server.run("kill", job.id, check=True)
    assert slurm_server.wait(job.id)["state"] == "Cancelled"

    slurm.start_controller()
    slurm.wait_until_empty()
    assert job.starts == {"0": 1, "1": 1}


class QuickHarness(SlurmHarness):
    """Looks for such jobs soon after Slurm was asked for something, and never because the backend has just started."""

    def backend(self) -> Backend:
        options = SlurmOptions(root=str(self._folder / "shared"), conf=str(self._slurm.conf), poll_s=0.2)
        settings = PhysicalCluster("hpc", "slurm", options=options)
        times = StrayTimes(settling_s=0.0, watch_s=0.5)
        home = self._folder / "home"
        return SlurmBackend(settings, self.archives, identity=self._identity, home=home, stray_times=times)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("state", ["PENDING", "RUNNING"])
async def test_job_that_came_back_unnoticed_is_ended_when_slurm_is_next_asked(
    slurm: RealSlurm, tmp_path: Path, state: str, anyio_backend: str
) -> None:
    """Nothing of Muster was in Slurm when its controller was killed, so that nobody asked for anything. The controller
    takes a job for running of which nothing is left on its node."""
    other = slurm.fill() if state == "PENDING" else slurm.submit("sleep 1000", "--nodelist=n4", as_user=OTHER_PERSON)
    slurm.wait_for_job(other, "RUNNING")
    async with opened(QuickHarness(tmp_path, slurm)) as site:
        launch = await site.launch_of()
        (task,) = launch.gang.tasks
        number = (await site.backend.launch(launch)).handles[task.id]
        await site.observer.sees(task, Phase.WAITING if state == "PENDING" else Phase.RUNNING)
        rewound = Rewound(slurm, tmp_path, number)
        await site.backend.stop([TaskRef.of(task)], 0.0)
        await site.observer.sees(task, Phase.ENDED)
        await becomes(lambda: slurm.job_state(number) in ("CANCELLED", "FAILED", "COMPLETED"))
        engine, cleanup = site.backend.capabilities.engine, site.backend.capabilities.cleanup
        assert engine is not None
        assert cleanup is not None
        cleanup.settled(TaskRef.of(task))

        rewound.go_back()
        slurm.start_controller()
        assert engine.pool() is not None, "nobody has noticed"
        assert slurm.job_state(number) == state

        async with asyncio.timeout(DEADLINE_S):
            while slurm.job_state(number) != "CANCELLED":
                await engine.look(0.0)  # asks the less often, the longer Slurm takes to answer
                await asyncio.sleep(LOOK_EVERY_S)
    assert slurm.job_state(other) == "RUNNING"
