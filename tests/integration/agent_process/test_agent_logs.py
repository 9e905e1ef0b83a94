"""Logs by byte cursor: exact, at any size, and told about while they grow."""

import sys

from muster.agent.system.frames import Message

from .driver import Agent

GATED = {"first": "echo 1234", "second": "echo 5678", "third": "exit 0"}
"""What a task does once the file of that name is there."""


def read_all(agent: Agent, task: str, limit: int) -> bytes:
    """Follow the log as a server does, until it is known to be complete."""
    data = bytearray()
    while True:
        answer = agent.ask("read_log", task=task, offset=len(data), limit=limit)
        assert answer["offset"] == len(data)
        data += answer["data"]
        if answer["ended"] and len(data) == answer["size"]:
            return bytes(data)


def log_events(agent: Agent, task: str) -> list[Message]:
    return [event for event in agent.events if event["event"] == "log" and event["task"] == task]


def test_binary_output_comes_back_byte_for_byte(agent: Agent) -> None:
    script = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4096 + b'no newline at the end')"
    agent.launch("t", sys.executable, "-c", script)
    assert read_all(agent, "t", 100_000) == bytes(range(256)) * 4096 + b"no newline at the end"
    assert agent.status("t")["log_bytes"] == 256 * 4096 + 21


def test_big_output_is_read_in_pieces_while_it_is_written(agent: Agent) -> None:
    agent.launch("t", "seq", "1", "2000000")
    data = read_all(agent, "t", 1024 * 1024)
    assert data == "".join(f"{number}\n" for number in range(1, 2_000_001)).encode()


def test_both_streams_land_in_one_log_in_order(agent: Agent) -> None:
    agent.shell("t", "echo one; echo two >&2; echo three")
    agent.wait_phase("t", "ended")
    assert agent.log("t") == b"one\ntwo\nthree\n"


def test_tail_begins_at_a_line(agent: Agent) -> None:
    agent.run("t", "seq", "1", "300000")
    for lines, first in ((1, "300000"), (10, "299991"), (200_000, "100001"), (300_000, "1"), (999_999, "1")):
        offset = agent.ask("tail_offset", task="t", lines=lines)["offset"]
        data = agent.ask("read_log", task="t", offset=offset, limit=100)["data"]
        assert data.decode().split("\n")[0] == first
    assert agent.ask("tail_offset", task="t", lines=0)["offset"] == agent.status("t")["log_bytes"]


def test_watcher_is_told_of_growth_and_of_the_end(agent: Agent) -> None:
    agent.shell("t", "".join(f"while ! [ -e {go} ]; do sleep 0.02; done; {do}; " for go, do in GATED.items()))
    agent.ask("watch_log", task="t")
    for told, go in enumerate(GATED, start=1):
        agent.read_until(lambda told=told: len(log_events(agent, "t")) == told, f"word {told}")  # type: ignore[misc]
        (agent.root / "tasks/t/work" / go).touch()
    agent.wait_phase("t", "ended")
    agent.read_until(lambda: len(log_events(agent, "t")) >= 4, "the last word")
    assert [event["size"] for event in log_events(agent, "t")] == [0, 5, 10, 10]


def test_chatty_task_does_not_flood_the_watcher(agent: Agent) -> None:
    agent.shell("t", "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done; sleep 0.1")
    agent.ask("watch_log", task="t")
    ended = agent.wait_phase("t", "ended")
    agent.read_until(lambda: log_events(agent, "t")[-1]["size"] == ended["log_bytes"], "the final size")
    sizes = [event["size"] for event in log_events(agent, "t")]
    assert sizes == sorted(sizes)
    lasted_s = ended["ended_at"] - ended["started_at"]
    assert len(sizes) <= lasted_s / 0.04 + 4


def test_unwatched_log_is_not_told_about(agent: Agent) -> None:
    agent.shell("t", "while ! [ -e go ]; do sleep 0.02; done; echo 1234")
    agent.ask("watch_log", task="t")
    agent.ask("unwatch_log", task="t")
    before = len(log_events(agent, "t"))
    (agent.root / "tasks/t/work/go").touch()
    agent.wait_phase("t", "ended")
    agent.ask("ping")
    assert len(log_events(agent, "t")) == before


def test_log_that_the_task_replaced_by_a_link_is_not_followed(agent: Agent) -> None:
    agent.shell("t", "ln -sf /etc/passwd $MUSTER_TASK_DIR/log")
    agent.wait_phase("t", "ended")
    number = agent.send("read_log", task="t", offset=0, limit=100)
    agent.read_until(lambda: number in agent._answers, "an answer")
    assert agent._answers[number]["ok"] is False
