"""The agent of a login node is started from no folder that somebody else has prepared."""

import asyncio
import os
import pwd
from pathlib import Path

import pytest

from muster.backends.slurm.examination import examine
from muster.backends.slurm.login.login_agent import LoginNode
from muster.backends.slurm.options import SlurmOptions
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError

pytestmark = pytest.mark.fast
NAME = "server-hpc"


@pytest.mark.parametrize("prepared", ["agents", NAME])
def test_prepared_folder_is_refused_and_stays_as_it_is(tmp_path: Path, prepared: str) -> None:
    shared, theirs = tmp_path / "shared", tmp_path / "theirs"
    shared.mkdir()
    theirs.mkdir()
    (shared / prepared).symlink_to(theirs)

    with pytest.raises(BackendError, match=f"{shared}/{prepared}, which belongs to"):
        asyncio.run(_connect(LoginNode(SlurmOptions(root=str(shared)), NAME, 0, tmp_path / "home/host-keys")))

    assert list(theirs.iterdir()) == []


def test_check_names_a_shared_folder_that_does_not_exist(tmp_path: Path) -> None:
    found = examine(PhysicalCluster("hpc", "slurm", options=SlurmOptions(root=str(tmp_path / "nope/x"))))
    assert [str(tmp_path / "nope/x") in one for one in found.failures] == [True]
    assert not (tmp_path / "nope").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders to others")
def test_check_names_the_owner_of_a_shared_folder_of_somebody_else(tmp_path: Path) -> None:
    os.chown(tmp_path, pwd.getpwnam("nobody").pw_uid, -1)
    found = examine(PhysicalCluster("hpc", "slurm", options=SlurmOptions(root=str(tmp_path))))
    assert [f"the folder {tmp_path} belongs to nobody" in one for one in found.failures] == [True]


async def _connect(node: LoginNode) -> None:
    async with asyncio.timeout(60), node.connected():
        pass
