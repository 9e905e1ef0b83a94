"""A job that asks for more time than its partition gives is refused, as Slurm would never start it."""

from pathlib import Path

import pytest

from tests.parts.slurm import RealSlurm
from tests.parts.slurm_server import CLUSTER, serving_slurm

pytestmark = pytest.mark.slurm


def test_time_limit_beyond_that_of_the_partition_is_refused(slurm: RealSlurm, tmp_path: Path) -> None:
    slurm.run("scontrol", "create", "partitionname=short", "nodes=n1", "maxtime=60")
    try:
        with serving_slurm(tmp_path / "home", slurm, partition="short") as server:
            words = ["run", "--no-package", "--cluster", CLUSTER, "--name", "long", "--time-limit"]
            refused = server.run(*words, "3h", "--", "true")
            assert refused.returncode != 0
            assert "the partition short gives at most 1h" in " ".join((refused.stdout + refused.stderr).split())
            server.run(*words, "30m", "--", "true", check=True)
    finally:
        slurm.run("scontrol", "delete", "partitionname=short")
