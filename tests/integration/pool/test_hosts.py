"""The test hosts are as separate as machines, and fail as machines do."""

import asyncio

import pytest

from tests.integration.pool.visiting import connect, said
from tests.parts.hosts import HostPool


def test_hosts_have_names_addresses_processes_and_files_of_their_own(pool: HostPool) -> None:
    for host in pool.hosts:
        assert said(host, "hostname") == host.name
        assert said(host, "id -un") == "root"
        said(host, f"echo {host.name} > /etc/whose; sleep 6{host.address[-2:]} >/dev/null 2>&1 &")
    for host in pool.hosts:
        assert said(host, "cat /etc/whose") == host.name
        assert (host.root / "etc/whose").read_text() == f"{host.name}\n"
        assert list(host.processes("sleep 6").values()) == [f"sleep 6{host.address[-2:]}"]
    assert len({host.address for host in pool.hosts}) == len({host.host_key for host in pool.hosts}) == 4


def test_a_host_that_is_cut_off_is_heard_again_when_mended(pool: HostPool) -> None:
    async def story() -> None:
        async with connect(pool[1]) as connection:
            pool[1].cut()
            with pytest.raises((OSError, TimeoutError)):
                async with asyncio.timeout(1), connect(pool[1]):
                    pass
            pool[1].mend()
            assert (await connection.run("echo still here")).stdout == "still here\n"

    asyncio.run(story())
