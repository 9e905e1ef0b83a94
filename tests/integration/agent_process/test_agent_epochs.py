"""Two servers share a node's root: the agent of the later epoch has it, and the earlier server can do nothing."""

import signal

import pytest

from .conftest import StartAgent
from .driver import DEADLINE_S, Refused, wait_until


def test_an_agent_of_an_earlier_epoch_takes_nothing_from_a_later_one(start_agent: StartAgent) -> None:
    later = start_agent(None, "--take-over", "--epoch", "7")
    later.ask("ping")
    earlier = start_agent(None, "--take-over", "--epoch", "6")
    assert earlier.process.wait(DEADLINE_S) != 0
    later.ask("ping")
    later.close()
    after_all = start_agent(None, "--take-over", "--epoch", "6")
    assert after_all.process.wait(DEADLINE_S) != 0, "the epoch is kept, although no agent runs"
    start_agent(None, "--take-over", "--epoch", "7").ask("ping")


def test_an_agent_obeys_no_order_once_a_later_epoch_has_begun(start_agent: StartAgent) -> None:
    earlier = start_agent(None, "--epoch", "6")
    earlier.shell("t", "exec sleep 300")
    earlier.wait_phase("t", "running")
    later = start_agent(None, "--epoch", "7")  # it waits for the root, because it may not take it
    number = later.send("ping")
    wait_until(lambda: (later.root / "epoch").read_text().strip() == "7", "the later epoch")
    with pytest.raises(Refused, match="obeys a later server"):
        earlier.ask("stop", task="t", grace_s=0.0)
    with pytest.raises(Refused, match="obeys a later server"):
        earlier.shell("u", "true")
    assert earlier.status("t")["phase"] == "running", "what changes nothing is still answered"
    earlier.close()
    later.answer(number)
    later.ask("stop", task="t", grace_s=0.0)
    assert later.wait_phase("t", "ended")["signal"] == signal.SIGKILL
    assert not (later.root / "tasks" / "u").exists()
