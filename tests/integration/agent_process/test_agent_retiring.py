"""Folders of ended tasks: put aside when the server has recorded the end, removed when it says so."""

from .conftest import StartAgent
from .driver import wait_until


def test_next_agent_removes_retired_tasks_that_left_nothing(start_agent: StartAgent) -> None:
    agent = start_agent()
    agent.shell("empty", "true")
    agent.shell("kept", "echo weights > model")
    agent.shell("busy", "sleep 300")
    agent.wait_phase("empty", "ended")
    agent.wait_phase("kept", "ended")
    assert agent.ask("retire", tasks=["empty", "kept", "busy", "unknown"])["retired"] == 2
    assert [task["task"] for task in agent.ask("list")["tasks"]] == ["busy"]
    ended = agent.root / "ended"
    assert sorted(path.name for path in ended.iterdir()) == ["empty", "kept"]
    agent.kill()
    successor = start_agent()
    wait_until(lambda: [path.name for path in ended.iterdir()] == ["kept"], "the empty folder to go")
    assert (ended / "kept/work/model").read_text() == "weights\n"
    successor.ask("stop", task="busy", grace_s=0)


def test_forget_reaches_retired_tasks_and_may_be_repeated(start_agent: StartAgent) -> None:
    agent = start_agent()
    agent.shell("t", "echo weights > model")
    agent.wait_phase("t", "ended")
    agent.ask("retire", tasks=["t"])
    agent.ask("forget", task="t")
    agent.ask("forget", task="t")
    wait_until(lambda: not list((agent.root / "ended").iterdir()), "the folder to go")


def test_next_agent_does_not_know_retired_tasks(start_agent: StartAgent) -> None:
    first = start_agent()
    first.shell("t", "echo weights > model")
    first.wait_phase("t", "ended")
    first.ask("retire", tasks=["t"])
    first.kill()
    assert start_agent().ask("list")["tasks"] == []
