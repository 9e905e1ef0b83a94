"""A Slurm cluster for the machine of a page: its commands work there, and /mnt is the same folder on all nodes.

Jobs run as the account that submits them, which the nodes must know, too. On the hosts the account `muster` is the one
that this machine has for nobody.
"""

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
_ACCOUNT = "muster:x:65534:65534::/mnt:/bin/bash"


@contextmanager
def slurm_cluster(pool: HostPool) -> Iterator[RealSlurm]:
    """The hosts reach its daemons over the network, and munge by its socket."""
    with tempfile.TemporaryDirectory(prefix="muster-slurm-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        with RealSlurm(folder / "slurm", SlurmOptions(address=pool.address)) as slurm:
            shared = folder / "shared"
            shared.mkdir(mode=0o1777)
            shared.chmod(0o1777)
            every_node = ("--nodes=4", "--ntasks-per-node=1", "--mem=0")
            slurm.run("srun", *every_node, "mount", "--bind", str(shared), str(_SHARED))
            with (slurm.folder / "hosts").open("a") as names:  # what nodes know
                names.writelines(f"{host.address} {host.run(['hostname']).strip()}\n" for host in pool.hosts)
            for host in pool.hosts:
                host.share(slurm.folder)
                host.share(shared, _SHARED)
                target = host.path(_CONF)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(slurm.conf, target)
                accounts, secrets = host.path("/etc/passwd"), host.path("/etc/shadow")
                accounts.write_text(f"{_ACCOUNT}\n{accounts.read_text()}")  # the first of a number has its name
                secrets.write_text(f"muster:*:20000:0:99999:7:::\n{secrets.read_text()}")
            yield slurm
