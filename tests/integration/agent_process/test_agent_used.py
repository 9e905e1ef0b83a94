"""What a real agent says of the CPU and memory that real tasks used: in control groups, without, after it died."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from muster.agent.tasks.cgroups import find_groups

from .conftest import StartAgent
from .driver import Agent

MIB = 1 << 20
# A child that is waited for counts for its task, and so does one that is not if there are control groups.
WORK = """
import os, time
def work():
    block = bytearray(96 << 20)
    while time.process_time() < 0.4: pass
child = os.fork()
if not child:
    work()
    os._exit(0)
os.waitpid(child, 0)
"""


def used_at_end(agent: Agent, task: str) -> dict[str, Any]:
    used = agent.wait_phase(task, "ended")["used"]
    assert isinstance(used, dict)
    return used


def check(used: dict[str, Any]) -> None:
    assert used["is_final"] is True
    assert 0.4 <= used["cpu_s"] < 30
    assert 96 * MIB <= used["memory_peak_bytes"] < 400 * MIB


def test_a_task_without_limits_and_samples_has_figures_at_its_end(agent: Agent) -> None:
    agent.launch("t", sys.executable, "-c", WORK)
    check(used_at_end(agent, "t"))


def test_the_memory_of_the_launcher_is_not_that_of_a_short_task(agent: Agent) -> None:
    agent.launch("t", "/bin/true")
    assert used_at_end(agent, "t")["memory_peak_bytes"] is None

    agent.launch("u", sys.executable, "-c", "bytearray(64 << 20)")
    assert used_at_end(agent, "u")["memory_peak_bytes"] > 64 * MIB


def test_a_task_in_a_control_group_has_figures_at_its_end(agent: Agent, tmp_path: Path) -> None:
    if find_groups().memory is None:
        pytest.skip(f"no memory limits here: {find_groups().why}")
    task = f"used-{tmp_path.name}-{os.getpid()}"
    agent.launch(task, sys.executable, "-c", WORK, limits={"memory_bytes": 512 * MIB, "cpu_shares": 256})
    check(used_at_end(agent, task))


def test_the_cache_of_files_is_not_memory_that_a_task_used(agent: Agent, tmp_path: Path) -> None:
    if find_groups().memory is None:
        pytest.skip(f"no memory limits here: {find_groups().why}")
    task = f"cache-{tmp_path.name}-{os.getpid()}"
    script = f"head -c {300 * MIB} /dev/zero > big; cat big > /dev/null"
    agent.shell(task, script, limits={"memory_bytes": 800 * MIB})
    assert used_at_end(agent, task)["memory_peak_bytes"] < 150 * MIB


def test_the_figures_of_a_task_that_ended_without_an_agent_are_known_to_the_next(start_agent: StartAgent) -> None:
    agent = start_agent()
    agent.launch("t", sys.executable, "-c", f"import os\nwhile not os.path.exists('go'): pass\n{WORK}")
    agent.wait_phase("t", "running")
    agent.kill()
    folder = agent.root / "tasks" / "t"
    (folder / "work" / "go").touch()
    next_agent = start_agent()
    next_agent.read_until(lambda: next_agent.status("t")["phase"] == "ended", "the end")
    first = next_agent.status("t")["used"]
    check(first)
    next_agent.kill()
    third = start_agent()
    third.read_until(lambda: third.status("t")["phase"] == "ended", "the end, again")
    assert third.status("t")["used"] == first


def test_samples_so_far_continue_after_the_agent_was_killed(start_agent: StartAgent, tmp_path: Path) -> None:
    cards = tmp_path / "cards"
    cards.write_text("2xA100\nload 1 80 12Gi 65 200\n")

    def sampled(agent: Agent) -> list[dict[str, Any]]:
        samples = [event["tasks"].get("t") for event in agent.events if event["event"] == "usage"]
        return [sample["used"] for sample in samples if sample]

    agent = start_agent(None, MUSTER_FAKE_GPUS=f"@{cards}")
    agent.ask("hello")
    agent.ask("usage", every_s=0.1)
    agent.launch("t", "/bin/sh", "-c", "while [ ! -e go ]; do sleep 0.1; done", devices=[1])
    agent.read_until(lambda: len(sampled(agent)) > 1, "two samples")
    (gpu,) = sampled(agent)[-1]["gpus"]
    assert (gpu["index"], gpu["load_peak"], gpu["memory_peak_bytes"]) == (1, 80.0, 12 << 30)
    agent.kill()

    cards.write_text("2xA100\nload 1 10 1Gi 65 200\n")
    again = start_agent(None, MUSTER_FAKE_GPUS=f"@{cards}")
    again.ask("hello")
    again.ask("usage", every_s=0.1)
    again.read_until(lambda: bool(sampled(again)), "a sample of the next agent")
    assert sampled(again)[0]["gpus"][0]["load_peak"] == 80.0, "the peak was in the task's folder"
    (agent.root / "tasks" / "t" / "work" / "go").touch()
    (ended,) = used_at_end(again, "t")["gpus"]
    assert (ended["load_peak"], ended["memory_peak_bytes"]) == (80.0, 12 << 30)
    assert ended["energy_j"] is None or ended["energy_j"] >= 0
