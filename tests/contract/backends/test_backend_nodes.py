"""The capabilities of nodes: `usage` and `node-administration`."""

import asyncio
from contextlib import aclosing

import pytest

from muster.domain.errors import MusterError
from muster.ports.backend import Phase
from muster.ports.capabilities import CommandEnd, CommandOutput, NodeAdministration, Usage
from tests.contract.backends.observing import DEADLINE_S, Site, answers, becomes, named

pytestmark = pytest.mark.anyio


async def test_samples_of_usage_come_and_their_history_is_ordered(site: Site) -> None:
    usage = _usage(site)
    (task,) = await site.running()  # an engine may measure only where tasks run
    node = site.harness.node or task.placement.node
    for _ in range(2):
        site.harness.measure()
    await becomes(lambda: len(usage.history(node)) >= 2)
    history = usage.history(node)
    assert usage.latest()[node].received_at >= history[-1].received_at
    heard = [sample.received_at for sample in history]
    assert heard == sorted(heard)
    assert all(not sample.tasks for sample in history), "what tasks used is for now, not for later"
    later = [sample.received_at for sample in usage.history(node, since=heard[0])]
    assert later[: len(heard) - 1] == heard[1:]
    assert not usage.history(node, since=heard[-1] + 3600.0)


async def test_a_node_that_never_was_has_no_usage(site: Site) -> None:
    usage = _usage(site)
    assert "nobody" not in usage.latest()
    assert list(usage.history("nobody")) == []


async def test_the_last_that_a_command_yields_is_its_end(site: Site) -> None:
    run = _administration(site).execute(site.harness.node, ("echo", "out"), 60.0)
    async with asyncio.timeout(DEADLINE_S), aclosing(run) as pieces:
        *printed, end = [piece async for piece in pieces]
    assert end == CommandEnd(0)
    assert all(isinstance(piece, CommandOutput) for piece in printed)
    assert b"out" in b"".join(piece.data for piece in printed if isinstance(piece, CommandOutput))


async def test_a_command_streams_what_it_prints_and_ends_with_its_exit_code(site: Site) -> None:
    output, end = await _executed(site, "echo out; echo err >&2; exit 3")
    assert (output["stdout"], output["stderr"]) == (b"out\n", b"err\n")
    assert end == CommandEnd(3)


async def test_a_command_that_takes_too_long_is_ended(site: Site) -> None:
    _, end = await _executed(site, "exec sleep 600", timeout_s=0.2)
    assert end.timed_out


async def test_closing_early_kills_the_command(site: Site) -> None:
    run = _shell(site).execute(site.harness.node, ("sh", "-c", "echo $$; exec sleep 600"), 600.0)
    async with asyncio.timeout(DEADLINE_S), aclosing(run) as pieces:
        printed = b""
        async for piece in pieces:
            assert isinstance(piece, CommandOutput)
            printed += piece.data
            if printed.endswith(b"\n"):
                break
    async with asyncio.timeout(DEADLINE_S):
        while (await _executed(site, f"kill -0 {int(printed)}"))[1].exit_code == 0:
            await asyncio.sleep(0)


async def test_a_reconnected_node_answers_and_has_its_tasks(site: Site) -> None:
    administration = _administration(site)
    (task,) = await site.running()
    before = len(site.observer.reconnects)
    administration.reconnect(site.harness.node)
    await site.observer.until(lambda: len(site.observer.reconnects) > before)
    assert site.observer.reconnects[-1] == site.harness.node
    assert answers(site.backend)
    found = named(await site.backend.observe_all(), task)
    assert found is not None
    assert found.phase is Phase.RUNNING
    await becomes(lambda: site.harness.tasks.starts(task))
    assert site.harness.tasks.starts(task) == 1


async def test_a_node_that_never_was_cannot_be_reconnected(site: Site) -> None:
    administration = _administration(site)
    with pytest.raises(MusterError):
        administration.reconnect("nobody")


async def _executed(site: Site, script: str, timeout_s: float = 60.0) -> tuple[dict[str, bytes], CommandEnd]:
    output = {"stdout": b"", "stderr": b""}
    run = _shell(site).execute(site.harness.node, ("sh", "-c", script), timeout_s)
    async with asyncio.timeout(DEADLINE_S), aclosing(run) as pieces:
        async for piece in pieces:
            if isinstance(piece, CommandEnd):
                return output, piece
            output[piece.stream] += piece.data
    raise AssertionError("the command has no end")


def _usage(site: Site) -> Usage:
    usage = site.backend.capabilities.usage
    if usage is None:
        pytest.skip("this backend does not offer usage")
    return usage


def _shell(site: Site) -> NodeAdministration:
    administration = _administration(site)
    if not site.harness.tasks.are_processes:
        pytest.skip("a backend in memory runs no command")
    return administration


def _administration(site: Site) -> NodeAdministration:
    administration = site.backend.capabilities.node_administration
    if administration is None:
        pytest.skip("this backend does not offer node administration")
    return administration
