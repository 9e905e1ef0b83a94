"""The start barrier: every node of a gang has its archives before the first task is launched."""

import asyncio
from collections.abc import Collection
from pathlib import Path

from muster.backends.agents.archive_transfer import ArchiveTransfer
from muster.domain.errors import BackendError, MusterError
from muster.domain.launch_requests import GangLaunch
from muster.ports.archives import Archives
from muster.ports.capabilities import Unready


class Preparation:
    """Implements `ports.capabilities.Shipping`."""

    def __init__(self, shipping: ArchiveTransfer, archives: Archives) -> None:
        self._shipping = shipping
        self._archives = archives

    async def prepare(self, launch: GangLaunch) -> list[Unready]:
        """Prepare all nodes at once. If one node cannot be prepared, the others are not waited for."""
        wanted = {(request.node, digest) for request in launch.pending for digest in request.digests}
        transfers = [
            asyncio.create_task(self._send(node, digest, self._archives.path(digest))) for node, digest in wanted
        ]
        try:
            for done in asyncio.as_completed(transfers):
                if unready := await done:
                    return [unready]
            return []
        finally:
            for task in transfers:
                task.cancel()
            await asyncio.gather(*transfers, return_exceptions=True)

    def progress(self, digests: Collection[str]) -> str:
        return self._shipping.progress(digests)

    async def _send(self, node: str, digest: str, path: Path) -> Unready | None:
        try:
            await self._shipping.ensure(node, digest, path)
        except MusterError as error:
            reason = error.reason if isinstance(error, BackendError) else ""
            return Unready(node, reason or error.code, error.message)
        return None
