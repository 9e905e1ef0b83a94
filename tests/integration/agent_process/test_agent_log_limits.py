"""The size of logs: what an endless writer may take of the disk, with an agent and without one."""

import os
from pathlib import Path

from .conftest import StartAgent
from .driver import Agent, wait_until

LIMIT = 256 << 10
ENDLESS = "i=0; while :; do i=$((i+1)); echo this is line $i of very many; done"
MARGIN = 32 << 20
"""What a shell may write in the second between two looks, many times over."""


def space(agent: Agent) -> int:
    return (agent.root / "tasks/t/log").stat().st_blocks * 512


def dropped(agent: Agent) -> tuple[int, int]:
    record = agent.root / "tasks/t/log.dropped"
    start, end = (record.read_bytes().split() if record.exists() else ()) or (0, 0)  # it is made before it is written
    return int(start), int(end)


def read(agent: Agent, offset: int) -> bytes:
    data: bytes = agent.ask("read_log", task="t", offset=offset, limit=1000)["data"]
    return data


def test_endless_writer_keeps_the_beginning_and_the_end(agent: Agent) -> None:
    agent.shell("t", ENDLESS, log_bytes=LIMIT)
    wait_until(lambda: dropped(agent)[1] > 4 * LIMIT, "bytes to be dropped")
    assert space(agent) < MARGIN
    start, _ = dropped(agent)
    assert read(agent, 0).startswith(b"this is line 1 of very many\n")
    assert read(agent, start - 10) == b"very many\n", "reading stops where bytes were dropped"
    assert read(agent, start) == b""
    agent.ask("stop", task="t", grace_s=0)
    ended = agent.wait_phase("t", "ended")
    start, end = agent.ask("read_log", task="t", offset=0, limit=0)["dropped"]
    assert ended["log_bytes"] - (end - start) <= LIMIT, "the limit is exact once it has ended"
    assert read(agent, end).startswith(b"this is line ")
    assert agent.ask("tail_offset", task="t", lines=1_000_000)["offset"] == start
    last = agent.ask("tail_offset", task="t", lines=1)["offset"]
    assert end < last < ended["log_bytes"]


def test_limit_holds_while_there_is_no_agent_and_under_the_next_one(start_agent: StartAgent) -> None:
    first = start_agent()
    first.shell("t", ENDLESS, log_bytes=LIMIT)
    first.wait_phase("t", "running")
    first.kill()
    wait_until(lambda: dropped(first)[1] > 2 * LIMIT, "the shim alone to drop bytes")
    second = start_agent()
    before = dropped(second)[1]
    wait_until(lambda: dropped(second)[1] > before + 2 * LIMIT, "bytes to be dropped further")
    assert space(second) < MARGIN
    assert read(second, 0).startswith(b"this is line 1 of very many\n")


def test_limit_holds_for_a_task_whose_shim_was_killed(agent: Agent) -> None:
    agent.shell("t", ENDLESS, log_bytes=LIMIT)
    pid = agent.wait_phase("t", "running")["pid"]
    os.kill(int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]), 9)
    wait_until(lambda: dropped(agent)[1] > 2 * LIMIT, "bytes to be dropped")
    assert agent.status("t")["phase"] == "running"
