"""Folders of ended tasks: put aside when the server has recorded the end, removed when it says so."""

from .conftest import StartAgent
from .driver import wait_until


def test_retired_tasks_leave_nothing_but_what_they_wrote(start_agent: StartAgent) -> None:
    agent = start_agent()
    agent.shell("bare", "true")
    agent.shell("kept", "echo weights > model")
    agent.shell("busy", "sleep 300")
    agent.wait_phase("bare", "ended")
    agent.wait_phase("kept", "ended")
    assert agent.ask("retire", tasks=["bare", "kept", "busy", "unknown"])["retired"] == 2
    assert [task["task"] for task in agent.ask("list")["tasks"]] == ["busy"]
    ended = agent.root / "ended"
    wait_until(lambda: [path.name for path in ended.iterdir()] == ["kept"], "the bare folder to go")
    assert (ended / "kept/work/model").read_text() == "weights\n"
    agent.ask("stop", task="busy", grace_s=0)


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
