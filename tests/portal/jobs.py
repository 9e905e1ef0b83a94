"""Jobs of people on the pretended cluster."""

from typing import Any

from tests.parts.pretend_cluster.seeding import submit
from tests.portal.conftest import Lab


def job_of(lab: Lab, name: str, *, seconds: int = 1800, workers: int = 2, owner: str = "ada", code: int = 0) -> Any:
    """A job of the owner that prints a line every second."""
    env = {"PRETEND_S": str(seconds), "PRETEND_EXIT": str(code)}
    worker = {"replicas": workers, "command": "python train.py", "resources": {"cpu": 1}}
    spec = {"name": name, "cluster": "speech", "env": env, "roles": {"worker": worker}}
    return submit(lab.server, lab.token(owner), spec)
