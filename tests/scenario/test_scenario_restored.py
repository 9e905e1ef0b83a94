"""A restored, older database: nothing that only the nodes know is stopped or run again, until an admin releases it."""

from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from muster.engine.requests import commands
from muster.engine.state.event_builders import audit_event
from muster.stores import backup
from muster.stores.tables import HEAD
from tests.parts.building import a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


def url_of(lab: Laboratory) -> str:
    return f"sqlite:///{lab.folder / 'muster.db'}"


class Rows(dict[str, list[str]]):
    """A backup in memory."""

    def take(self, lab: Laboratory) -> None:
        backup.dump(url_of(lab), lambda table, lines: self.__setitem__(table, list(lines)))

    def restore(self, lab: Laboratory) -> None:
        backup.load(url_of(lab), HEAD, lambda table: self[table], replace=True)


async def test_what_ran_after_the_backup_is_neither_stopped_nor_run_again(lab: Laboratory) -> None:
    rows = Rows()
    first = await lab.submit(a_spec(a_role(cpu=8), name="first"))
    await lab.becomes(first, "Running")
    queued = await lab.submit(a_spec(name="queued"))
    waiting = await lab.submit(a_spec(name="waiting"))
    rows.take(lab)
    lab.backend.end(f"{first}.1.worker.0")
    await lab.becomes(first, "Succeeded")
    await lab.becomes(queued, "Running")
    await lab.becomes(waiting, "Running")
    later = await lab.submit(a_spec(name="later"))
    await lab.becomes(later, "Running")
    await lab.close()
    lab.backend.end(f"{queued}.1.worker.0")
    rows.restore(lab)
    stops = len(lab.backend.stops)

    await lab.open()
    await lab.becomes(first, "Succeeded")
    assert "ended with exit code 0" in (await lab.becomes(queued, "Held")).reason
    assert "runs" in (await lab.becomes(waiting, "Held")).reason
    assert f"{later}.1.worker.0" in lab.context.differences, "a job that the database has never seen"
    new = await lab.submit(a_spec(name="new"))
    await lab.settled()
    assert (await lab.job(new)).attempt == 0, "nothing starts while the server is held"
    assert lab.backend.stops[stops:] == []
    assert lab.backend.tasks[f"{later}.1.worker.0"].runs

    await lab.close()
    assert backup.release(url_of(lab), audit_event("server.release", "root", 1.0))
    await lab.open()
    await lab.becomes(new, "Running")
    await lab.settled()
    assert (await lab.job(queued)).state_name == "Held", "only its owner runs it again"
    assert lab.backend.starts[f"{queued}.1.worker.0"] == 1


async def test_a_task_that_the_node_has_forgotten_is_said_and_not_lost_while_held(lab: Laboratory) -> None:
    rows = Rows()
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    rows.take(lab)
    await lab.close()
    lab.backend.tasks.clear()
    rows.restore(lab)
    await lab.open()
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Running"
    assert "unknown to node n1" in lab.context.differences[f"{job_id}.1.worker.0"]
    await commands.kill(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Cancelled")


async def test_a_backup_is_of_one_moment_and_has_every_row(lab: Laboratory, tmp_path: Path) -> None:
    rows = Rows()
    ids = [await lab.submit(a_spec(name=f"j{number}")) for number in range(5)]
    rows.take(lab)
    assert len(rows["jobs"]) == 5
    await lab.close()
    engine = create_engine(url_of(lab))
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM events"))
    engine.dispose()
    rows.restore(lab)
    await lab.open()
    assert {event.job_id for event in await lab.events() if event.job_id} == set(ids)
