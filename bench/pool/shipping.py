"""How fast a package reaches a node over the agent's line, against `scp` of the same file.

The ssh backend by itself, without a server around it: bringing a package is its `prepare`.
"""

import asyncio
import hashlib
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from bench.measuring import percentile
from bench.muster.case import Case, Figures
from bench.pool.hosts import CLUSTER, Host, pool_of, ran_s, ssh_command
from bench.scale import Scale
from bench.table import Row, Unit
from muster.backends.logins.options import Login
from muster.backends.ssh.backend import SshBackend
from muster.backends.ssh.machine_identity import Machine, MachineIdentities
from muster.backends.ssh.options import SshNode
from muster.domain.clusters import PhysicalCluster
from muster.domain.gangs import Gang
from muster.domain.launch_requests import GangLaunch, LaunchRequest
from muster.domain.specs import JobSpec
from muster.engine.data.archives import SignedArchives
from muster.ports.backend import Observation

MEGABYTE = 1_000_000
ROUNDS = 3
READY_WITHIN_S = 60.0
LOOK_S = 0.05
WHAT = "package to a node, MB per second"


@dataclass
class Seen:
    ours: list[float] = field(default_factory=list)
    scp: list[float] = field(default_factory=list)


class Deaf:
    """Nobody has to know what the backend sees."""

    def task_observed(self, cluster: str, observation: Observation) -> None: ...

    def nodes_changed(self, cluster: str) -> None: ...

    def reconnected(self, cluster: str, node: str | None = None) -> None: ...


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    size = scale.package_megabytes * MEGABYTE
    with pool_of(1) as pool, tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        seen = uvloop.run(_measured(pool[0], Path(name), size))
    return _rows(scale, seen)


async def _measured(host: Host, folder: Path, size: int) -> Seen:
    machines = MachineIdentities(Machine.of_this_server())
    archives = SignedArchives(folder, "", b"")
    backend = SshBackend(_settings(host), archives, identity="bench", host_keys=folder / "kept_keys", machines=machines)
    await backend.start(Deaf())
    seen, copying = Seen(), ssh_command("scp", host, folder / "known_hosts")
    try:
        await _wait_until_ready(backend)
        for _ in range(ROUNDS):
            digest = _package(folder, size)
            package = archives.path(digest)
            seen.scp.append(await asyncio.to_thread(_scp_s, copying, host, package))
            seen.ours.append(await _shipping_s(backend, host, digest))
            package.unlink()
    finally:
        await backend.close()
    return seen


def _settings(host: Host) -> PhysicalCluster:
    login = Login(host.address, user=host.user, key_file=str(host.key_file), host_key=host.host_key)
    return PhysicalCluster(CLUSTER, "ssh", (SshNode(host.name, login),))


async def _wait_until_ready(backend: SshBackend) -> None:
    async with asyncio.timeout(READY_WITHIN_S):
        while not all(node.is_usable for node in backend.nodes()):
            await asyncio.sleep(LOOK_S)


def _package(folder: Path, size: int) -> str:
    """Bytes that nothing makes smaller, another content each time: what a node has, it is not sent again."""
    digest, path = hashlib.sha256(), folder / "package"
    with path.open("wb") as file:
        while file.tell() < size:
            piece = os.urandom(min(1 << 20, size - file.tell()))
            digest.update(piece)
            file.write(piece)
    path.rename(folder / f"{digest.hexdigest()}.tar.gz")
    return digest.hexdigest()


def _scp_s(copying: Sequence[str], host: Host, path: Path) -> float:
    seconds = ran_s([*copying, "-q", str(path), f"{host.user}@{host.address}:copied"])
    host.path("/root/copied").unlink(missing_ok=True)
    return seconds


async def _shipping_s(backend: SshBackend, host: Host, digest: str) -> float:
    shipping = backend.capabilities.shipping
    assert shipping is not None
    request = LaunchRequest("bench", host.name, ("true",), {}, package=digest)
    launch = GangLaunch(Gang("bench", "", "", 1, JobSpec("bench", ()), ()), (request,))
    began = time.monotonic()
    unready = await shipping.prepare(launch)
    seconds = time.monotonic() - began
    if unready:
        raise RuntimeError(f"the package did not arrive: {unready[0].message}")
    return seconds


def _rows(scale: Scale, seen: Seen) -> Sequence[Row]:
    ours, scp = (_rate(scale, seconds) for seconds in (seen.ours, seen.scp))
    note = f"{scale.package_megabytes} MB, p50 of {len(seen.ours)}; ours is checked by its hash when it is there"
    return [Row(WHAT, Unit.PER_SECOND, ours, "scp", scp, note=note)]


def _rate(scale: Scale, seconds: Sequence[float]) -> float | None:
    return scale.package_megabytes / percentile(seconds, 50) if seconds else None


CASE = Case("shipping", "a package of 200 MB to a node, against scp", run, lambda figures: [Row(WHAT, Unit.PER_SECOND)])
