"""A task says that its work is safe by touching a file; the agent tells it on."""

import os
from pathlib import Path

from muster.agent.system.frames import Message

from .conftest import StartAgent
from .driver import Agent


def told(agent: Agent, task: str) -> list[Message]:
    """What the agent said by itself of a running task with a checkpoint."""
    statuses = [event["status"] for event in agent.events if event["event"] == "task"]
    return [one for one in statuses if one["task"] == task and one["phase"] == "running" and one["checkpoint_at"]]


def wait_for_checkpoint(agent: Agent, task: str, at: float) -> None:
    agent.read_until(
        lambda: any(status["checkpoint_at"] == at for status in told(agent, task)), f"the checkpoint of {task} at {at}"
    )


def test_a_checkpoint_is_told_when_it_is_made_and_when_it_is_made_again(agent: Agent) -> None:
    # One step, where `touch` makes the file first and then sets its time: the time set below would be overwritten.
    agent.shell("t", ': > "$MUSTER_TASK_DIR/checkpoint"; sleep 60')
    agent.wait_phase("t", "running")
    file = agent.root / "tasks/t/checkpoint"
    agent.read_until(lambda: bool(told(agent, "t")), "the first checkpoint")
    assert told(agent, "t")[0]["checkpoint_at"] == file.stat().st_mtime
    os.utime(file, (2_000_000_000.5, 2_000_000_000.5))
    wait_for_checkpoint(agent, "t", 2_000_000_000.5)


def test_a_checkpoint_written_elsewhere_and_renamed_is_told(agent: Agent) -> None:
    agent.shell("t", 'cd "$MUSTER_TASK_DIR"; echo "step 7" > new; mv new checkpoint; sleep 60')
    agent.read_until(lambda: bool(told(agent, "t")), "the checkpoint")


def test_a_task_that_ends_leaves_its_last_checkpoint(agent: Agent) -> None:
    ended = agent.run("t", "/bin/sh", "-c", 'touch "$MUSTER_TASK_DIR/checkpoint"')
    assert ended["checkpoint_at"] == (agent.root / "tasks/t/checkpoint").stat().st_mtime
    assert agent.run("other", "true")["checkpoint_at"] is None


def test_a_task_that_checkpoints_all_the_time_does_not_flood_the_line(agent: Agent) -> None:
    agent.shell("t", 'i=0; while [ $i -lt 300 ]; do : > "$MUSTER_TASK_DIR/checkpoint"; i=$((i+1)); done')
    ended = agent.wait_phase("t", "ended")
    lasted_s = ended["ended_at"] - ended["started_at"]
    assert len(told(agent, "t")) <= lasted_s / 2.0 + 2


def test_an_agent_that_comes_back_tells_of_checkpoints_again(start_agent: StartAgent, tmp_path: Path) -> None:
    first = start_agent(tmp_path)
    first.shell("t", 'while ! [ -e go ]; do sleep 0.02; done; touch "$MUSTER_TASK_DIR/checkpoint"; sleep 60')
    first.wait_phase("t", "running")
    first.kill()
    second = start_agent(tmp_path)
    assert second.status("t")["checkpoint_at"] is None
    (tmp_path / "tasks/t/work/go").touch()
    second.read_until(lambda: bool(told(second, "t")), "the checkpoint")
