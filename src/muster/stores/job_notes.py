"""What programs noted about their jobs, one row for each key."""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, select

from muster.domain.job_notes import JobNote, NoteKind
from muster.domain.jobs import ELSEWHERE
from muster.ports.store import Reported
from muster.stores.octets import octets
from muster.stores.tables import job_notes, jobs

_IDS_AT_ONCE = 500
_REMOVE = delete(job_notes).where(
    and_(
        job_notes.c.job_id == bindparam("the_job"),
        job_notes.c.kind == bindparam("the_kind"),
        job_notes.c.key == bindparam("the_key"),
    )
)


def put_notes(connection: Connection, notes: Sequence[JobNote]) -> None:
    latest = {(note.job_id, note.kind, note.key): note for note in notes}.values()
    remove_notes(connection, list(latest))
    connection.execute(
        insert(job_notes),
        [{"job_id": note.job_id, "kind": str(note.kind), "key": note.key, "value": note.value} for note in latest],
    )


def remove_notes(connection: Connection, notes: Sequence[JobNote]) -> None:
    connection.execute(
        _REMOVE, [{"the_job": note.job_id, "the_kind": str(note.kind), "the_key": note.key} for note in notes]
    )


def notes_of(connection: Connection, job_ids: Sequence[str]) -> list[JobNote]:
    found: list[JobNote] = []
    for begin in range(0, len(job_ids), _IDS_AT_ONCE):
        chosen = job_notes.c.job_id.in_(job_ids[begin : begin + _IDS_AT_ONCE])
        query = select(job_notes).where(chosen).order_by(job_notes.c.job_id, job_notes.c.kind, job_notes.c.key)
        found += [
            JobNote(row.job_id, NoteKind(row.kind), row.key, row.value) for row in connection.execute(query).all()
        ]
    return found


def reported_by(connection: Connection, owner: str) -> Reported:
    """All notes of the owner are read, though not into memory."""
    outside = select(func.count()).select_from(jobs).where(jobs.c.owner == owner, jobs.c.cluster == ELSEWHERE)
    size = func.sum(octets(job_notes.c.key) + octets(job_notes.c.value))
    noted = select(size).join(jobs, jobs.c.id == job_notes.c.job_id).where(jobs.c.owner == owner)
    return Reported(connection.execute(outside).scalar_one(), int(connection.execute(noted).scalar_one() or 0))
