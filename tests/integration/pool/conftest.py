"""Real SSH hosts for the tests of a file; they skip, with the reason, where no hosts can be made."""

from collections.abc import Iterator

import pytest

from tests.parts.hosts import HostPool, hosts_unavailable


@pytest.fixture(scope="session")
def can_make_hosts() -> None:
    reason = hosts_unavailable()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def pool(can_make_hosts: None) -> Iterator[HostPool]:
    """Four plain hosts. A test leaves them as it found them; one that cannot makes a pool of its own."""
    with HostPool(4) as made:
        yield made
