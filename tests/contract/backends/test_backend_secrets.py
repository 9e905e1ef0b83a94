"""The capability `secrets`: values come with a launch, and no log shows them."""

from dataclasses import replace
from pathlib import Path

import pytest

from muster.domain.specs import SecretUse
from muster.ports.backend import Phase
from muster.ports.capabilities import TaskRef, required
from tests.contract.backends.observing import Site
from tests.contract.backends.test_backend_logs import grown

pytestmark = pytest.mark.anyio
VALUE = "hunter2-of-the-contract"
SHOWN = b"it is ***********************\n"


async def test_a_value_that_a_task_prints_is_masked_wherever_its_log_is_read(site: Site, tmp_path: Path) -> None:
    if site.backend.capabilities.secrets is None:
        pytest.skip("this backend does not offer secrets")
    logs = required(site.backend.capabilities.logs, "logs", site.backend.cluster)
    composed = await site.launch_of(secrets=(SecretUse("key", "KEY"), SecretUse("key", file="key")))
    launch = replace(composed, secret_values={"key": VALUE.encode()})
    assert VALUE not in repr(launch)
    assert (await site.backend.launch(launch)).refused == {}
    (started,) = launch.gang.tasks
    task = await site.observed(started)
    site.harness.tasks.says(task, f"it is {VALUE}")
    await grown(site, task, len(SHOWN))
    ref = TaskRef.of(task)
    assert (await logs.read(ref, 0, 1000)).data == SHOWN
    assert (await logs.read(ref, 8, 4)).data == b"****"
    site.harness.tasks.finish(task, 0)
    await site.observer.sees(task, Phase.ENDED)
    await logs.collect(ref, tmp_path / "collected")
    assert (tmp_path / "collected").read_bytes() == SHOWN
