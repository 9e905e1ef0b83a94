"""How the logs of ended tasks are kept on the server's own disk."""

import json
from pathlib import Path

import pytest

from muster.agent.tasks.task_folder import FACTS, OWN
from muster.backends.agents.connection import AgentNode
from muster.backends.agents.logs import AgentLogs
from muster.backends.local.backend import LinkedLogs
from muster.ports.capabilities import TaskRef

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
TASK = TaskRef("job.0.worker.0", node="here")


def not_asked(node: str) -> AgentNode:
    raise AssertionError("the log is on this disk")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "tasks" / TASK.task_id
    folder.mkdir(parents=True)
    (folder / "log").write_text("genuine")
    return folder / "log"


async def collected(tmp_path: Path) -> Path:
    target = tmp_path / "kept" / "worker-0.log"
    await LinkedLogs(not_asked, AgentLogs(None), tmp_path).collect(TASK, target)
    return target


def note(log: Path, *, is_own: bool) -> None:
    log.with_name(FACTS).write_text(json.dumps({OWN: is_own}))


@pytest.mark.parametrize("has_facts", [True, False])
async def test_who_has_the_log_of_an_ended_job_open_cannot_change_what_is_kept(
    tmp_path: Path, log: Path, has_facts: bool
) -> None:
    if has_facts:
        note(log, is_own=False)
    with log.open("r+") as held:
        target = await collected(tmp_path)
        held.write("FORGED!")
    assert target.read_text() == "genuine"
    await collected(tmp_path)
    assert target.read_text() == "genuine", "it is not collected again"


async def test_the_log_of_a_task_of_the_servers_own_person_is_linked(tmp_path: Path, log: Path) -> None:
    note(log, is_own=True)
    assert (await collected(tmp_path)).samefile(log)


async def test_a_link_in_the_place_of_the_log_is_not_followed(tmp_path: Path, log: Path) -> None:
    note(log, is_own=False)
    log.rename(log.with_name("elsewhere"))
    log.symlink_to("elsewhere")
    assert (await collected(tmp_path)).read_text() == ""


async def test_a_log_that_is_gone_is_kept_as_an_empty_one(tmp_path: Path, log: Path) -> None:
    note(log, is_own=False)
    log.unlink()
    assert (await collected(tmp_path)).read_text() == ""
