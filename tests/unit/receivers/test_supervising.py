"""How a supervisor ends that has nothing to do."""

from pathlib import Path

import pytest

from muster.receivers.addresses import Address
from muster.receivers.deployments import Deployment, Wanted
from muster.receivers.small_files import tried_lock
from muster.receivers.supervising import main

pytestmark = pytest.mark.fast


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    """All its receivers are stopped."""
    found = Deployment(tmp_path)
    found.change(lambda _: {Address("127.0.0.1", 9090): Wanted(False, "s")})
    return found


def test_a_supervisor_says_that_another_one_runs(deployment: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    with tried_lock(deployment.supervisor_lock) as is_free:
        assert is_free
        assert main(deployment.folder) == 1
    assert f"another supervisor of {deployment.folder} runs already" in capsys.readouterr().err


def test_a_supervisor_says_that_all_receivers_are_stopped(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(deployment.folder) == 0
    assert f"all receivers of {deployment.folder} are stopped: the supervisor ends" in capsys.readouterr().err
