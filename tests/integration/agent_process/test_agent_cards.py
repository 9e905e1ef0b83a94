"""What a real agent says of cards that break, and of the links of the machine."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .conftest import StartAgent
from .driver import Agent


def started(start_agent: StartAgent, cards: Path) -> Agent:
    cards.write_text("2xA100\n")
    agent = start_agent(None, MUSTER_FAKE_GPUS=f"@{cards}")
    assert [gpu["model"] for gpu in agent.ask("hello")["gpus"]] == ["A100", "A100"]
    agent.ask("usage", every_s=0.1)
    return agent


def wait_for(agent: Agent, condition: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    """The cards of the first new sample of which the condition holds."""
    first = len(agent.events)

    def found() -> list[list[dict[str, Any]]]:
        samples = [event["node"]["gpus"] for event in agent.events[first:] if event["event"] == "usage"]
        return [gpus for gpus in samples if condition(gpus)]

    agent.read_until(lambda: bool(found()), "the sample")
    return found()[0]


def test_a_sample_tells_of_links_disk_and_memory(start_agent: StartAgent, tmp_path: Path) -> None:
    agent = started(start_agent, tmp_path / "cards")
    wait_for(agent, lambda gpus: len(gpus) == 2)
    node = next(event["node"] for event in agent.events if event["event"] == "usage")
    assert 0 < node["memory_available_bytes"] <= node["memory_total_bytes"]
    assert node["disk_free_bytes"] > 0
    assert str(tmp_path).startswith(node["disk_mount"])
    assert "lo" not in [link["name"] for link in node["net"]]
    assert all(link["rx_bytes_s"] >= 0 and link["tx_bytes_s"] >= 0 for link in node["net"])


def test_errors_and_a_card_that_went_are_told_and_taken_back(start_agent: StartAgent, tmp_path: Path) -> None:
    cards = tmp_path / "cards"
    agent = started(start_agent, cards)
    cards.write_text("2xA100\necc 0 3\ngone 1\nload 0 87 12Gi 65 210\n")
    told = wait_for(agent, lambda gpus: gpus[1]["missing"])
    assert (told[0]["ecc_errors"], told[0]["load"], told[0]["temperature_c"], told[0]["power_w"]) == (3, 87, 65, 210)
    cards.write_text("2xA100\n")
    wait_for(agent, lambda gpus: not gpus[1]["missing"] and gpus[0]["ecc_errors"] == 0)


def test_a_task_on_its_card_is_ours_and_another_process_is_not(start_agent: StartAgent, tmp_path: Path) -> None:
    cards = tmp_path / "cards"
    agent = started(start_agent, cards)
    # setsid: it has left the task's session, and only its mark tells.
    agent.shell("t", 'setsid sleep 300 & echo $! > "$MUSTER_TASK_DIR/child"; wait')
    agent.wait_phase("t", "running")
    child = agent.root / "tasks" / "t" / "child"
    agent.read_until(lambda: child.exists() and child.read_text().endswith("\n"), "the child's pid")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        cards.write_text(f"2xA100\nprocess 0 {child.read_text().strip()}\nprocess 1 {other.pid}\n")
        told = wait_for(agent, lambda gpus: bool(gpus[1]["foreign_pids"]))
        assert [process["pid"] for process in told[1]["foreign_pids"]] == [other.pid]
        assert told[0]["foreign_pids"] == []
        other.kill()
    wait_for(agent, lambda gpus: not gpus[1]["foreign_pids"])
    agent.ask("stop", task="t", grace_s=0)
    agent.wait_phase("t", "ended")
