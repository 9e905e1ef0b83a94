from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.parts.directory_queue.site import Site


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """An engine with two nodes of two CPUs each, of which nobody else uses anything."""
    site = Site(tmp_path)
    site.offer({"c1": 2, "c2": 2})
    site.start_engine()
    try:
        await site.open()
        yield site
    finally:
        await site.close()
        site.end()
