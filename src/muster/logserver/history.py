"""Reads what is stored: jobs of all receivers, newest first, and the records of one of them."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from muster.logserver.index import Index
from muster.logserver.line_files import LineFiles

MAX_PAGE = 1000
MAX_RECORDS_OF_JOB = 10_000
_COLUMNS = {"receiver": "receiver", "owner": "owner", "cluster": "cluster", "state": "state"}


class BadQuery(ValueError):
    pass


@dataclass(frozen=True, slots=True)
class JobQuery:
    equal: Mapping[str, str]
    """Wanted values, by receiver, owner, cluster or state."""
    text: str = ""
    """A part of the name or the id; case does not matter."""
    since: str = ""
    until: str = ""
    limit: int = 100
    cursor: str = ""


class History:
    """A reader of its own, which does not wait for the one that writes. It belongs to one thread at a time."""

    def __init__(self, index: Path, files: LineFiles) -> None:
        self._index = Index(index, read_only=True)
        self._files = files

    def jobs(self, query: JobQuery) -> dict[str, Any]:
        """A page of jobs: `items`, and `nextCursor` unless it is the last."""
        conditions, values = _conditions(query)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        order = " ORDER BY submitted_at DESC, receiver DESC, id DESC LIMIT ?"
        columns = "SELECT submitted_at, receiver, id, summary FROM jobs"
        rows = self._index.rows(columns + where + order, (*values, query.limit + 1))
        page = rows[: query.limit]
        more = len(rows) > query.limit and page
        return {
            "items": [from_json(row[3]) for row in page],
            "nextCursor": _cursor(page[-1][:3]) if more else None,
        }

    def job(self, receiver: str, job_id: str) -> dict[str, Any] | None:
        """The job with all its records, in their order; None if there is none."""
        found = self._index.rows("SELECT summary FROM jobs WHERE receiver = ? AND id = ?", (receiver, job_id))
        if not found:
            return None
        places = self._index.rows(
            "SELECT file, offset, length FROM records WHERE receiver = ? AND job = ? ORDER BY seq LIMIT ?",
            (receiver, job_id, MAX_RECORDS_OF_JOB),
        )
        lines = [self._files.line(*place) for place in places]
        return {"job": from_json(found[0][0]), "records": [from_json(line) for line in lines if line]}

    def receivers(self) -> list[dict[str, Any]]:
        rows = self._index.rows("SELECT id, server, records, last_seq, last_at FROM receivers ORDER BY id", ())
        names = ("id", "server", "records", "lastSeq", "lastAt")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def close(self) -> None:
        self._index.close()


def _conditions(query: JobQuery) -> tuple[list[str], list[object]]:
    conditions: list[str] = []
    values: list[object] = []
    for name, value in query.equal.items():
        conditions.append(f"{_COLUMNS[name]} = ?")
        values.append(value)
    if query.text:
        conditions.append("(instr(lower(name), lower(?)) OR instr(id, ?))")
        values += [query.text, query.text]
    if query.since:
        conditions.append("submitted_at >= ?")
        values.append(query.since)
    if query.until:
        conditions.append("submitted_at < ?")
        values.append(query.until)
    if query.cursor:
        conditions.append("(submitted_at, receiver, id) < (?, ?, ?)")
        values += _place(query.cursor)
    return conditions, values


def _cursor(place: tuple[Any, ...]) -> str:
    return base64.urlsafe_b64encode(to_json(list(place))).decode("ascii")


def _place(cursor: str) -> list[str]:
    try:
        place = from_json(base64.urlsafe_b64decode(cursor.encode("ascii")))
    except (ValueError, binascii.Error):
        place = None
    if not isinstance(place, list) or len(place) != 3 or not all(isinstance(part, str) for part in place):
        raise BadQuery("the cursor is not one that this server made")
    return place
