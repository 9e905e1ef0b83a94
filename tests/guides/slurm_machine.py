"""A Slurm cluster for the machine of a page: its commands work there, and /mnt is the same folder on all nodes."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.parts.hosts import HostPool
from tests.parts.slurm import RealSlurm, SlurmOptions

__all__ = ["LOGIN_NODE", "slurm_cluster"]

LOGIN_NODE = "login-node"
_SHARED = Path("/mnt")
_CONF = "/etc/slurm/slurm.conf"


@contextmanager
def slurm_cluster(pool: HostPool, *, has_accounting: bool) -> Iterator[RealSlurm]:
    """The hosts reach its daemons over the network, and munge by its socket."""
    options = SlurmOptions(accounting=has_accounting, address=pool.address)
    with tempfile.TemporaryDirectory(prefix="muster-slurm-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with RealSlurm(folder / "slurm", options) as slurm:
            folder.chmod(0o711)
            shared = folder / "shared"
            shared.mkdir(mode=0o1777)
            shared.chmod(0o1777)
            every_node = ("--nodes=4", "--ntasks-per-node=1", "--mem=0")
            slurm.run("srun", *every_node, "mount", "--bind", str(shared), str(_SHARED))
            for host in pool.hosts:
                host.share(slurm.folder)
                host.share(shared, _SHARED)
                target = host.path(_CONF)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(slurm.conf, target)
            yield slurm
