"""The index beside the file, in SQLite: where each record is, and what is known of each job.

It can be made again from the file at any time, so it need not be flushed to the disk: after a crash of the machine it
may be older than the file, and never newer, because the file is flushed first. How far each file has been read is
written together with what was found there.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from muster.logserver.job_summaries import with_record
from muster.logserver.records import Record

_VERSION = 1
_VARIABLES_AT_ONCE = 500
_SCHEMA = """
CREATE TABLE records (
    receiver TEXT NOT NULL, seq INTEGER NOT NULL, file INTEGER NOT NULL, offset INTEGER NOT NULL,
    length INTEGER NOT NULL, job TEXT NOT NULL, PRIMARY KEY (receiver, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX ix_records_place ON records (file, offset);
CREATE INDEX ix_records_job ON records (receiver, job, seq);
CREATE TABLE jobs (
    receiver TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL, cluster TEXT NOT NULL,
    state TEXT NOT NULL, submitted_at TEXT NOT NULL, file INTEGER NOT NULL, summary BLOB NOT NULL,
    PRIMARY KEY (receiver, id)
) WITHOUT ROWID;
CREATE INDEX ix_jobs_newest ON jobs (submitted_at, receiver, id);
CREATE INDEX ix_jobs_owner ON jobs (owner, submitted_at, receiver, id);
CREATE INDEX ix_jobs_file ON jobs (file);
CREATE TABLE receivers (
    id TEXT PRIMARY KEY, server TEXT NOT NULL, records INTEGER NOT NULL, last_seq INTEGER NOT NULL,
    last_at TEXT NOT NULL, forgotten INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE files (number INTEGER PRIMARY KEY, size INTEGER NOT NULL);
"""
_PUT_JOB = "INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_PUT_RECEIVER = """
INSERT INTO receivers VALUES (?, ?, ?, ?, ?, 0) ON CONFLICT (id) DO UPDATE SET server = excluded.server,
    records = records + excluded.records, last_seq = max(last_seq, excluded.last_seq), last_at = excluded.last_at
"""


class IndexBroken(Exception):
    """The file is no index, or one of another version. It has to be made again."""


@dataclass(frozen=True, slots=True)
class Place:
    file: int
    offset: int
    length: int


class Index:
    """Belongs to one thread. Raises sqlite3.Error if the disk is full."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        try:
            self._connection = self._opened(path, read_only)
        except sqlite3.DatabaseError as error:
            raise IndexBroken(str(error)) from error

    def _opened(self, path: Path, read_only: bool) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}",
            uri=True,
            isolation_level=None,
            timeout=15.0,
            check_same_thread=False,
        )
        if not read_only:
            path.chmod(0o600)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
            elif version != _VERSION:
                connection.close()
                raise IndexBroken(f"it has version {version}")
        return connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def places(self, records: Sequence[Record]) -> dict[tuple[str, int], Place | None]:
        """Those of the records that are stored, and where. None if the file has been removed meanwhile."""
        found: dict[tuple[str, int], Place | None] = {}
        known = {row[0]: row[1:] for row in self._connection.execute("SELECT id, last_seq, forgotten FROM receivers")}
        by_receiver: dict[str, list[int]] = {}
        for record in records:
            last, forgotten = known.get(record.receiver, (0, 0))
            if record.seq <= forgotten:
                found[record.key] = None
            elif record.seq <= last:
                by_receiver.setdefault(record.receiver, []).append(record.seq)
        for receiver, numbers in by_receiver.items():
            for some in _parts(numbers):
                marks = ",".join("?" * len(some))
                query = f"SELECT seq, file, offset, length FROM records WHERE receiver = ? AND seq IN ({marks})"  # noqa: S608
                for row in self._connection.execute(query, (receiver, *some)):
                    found[receiver, row[0]] = Place(*row[1:])
        return found

    def add(self, records: Sequence[Record], offsets: Sequence[int], file: int, size: int) -> None:
        """Note where records are, and that the file has been read up to `size`."""
        rows = [
            (one.receiver, one.seq, file, offset, len(one.line), one.job_id)
            for one, offset in zip(records, offsets, strict=True)
        ]
        self._connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)", rows)
        self._add_jobs([one for one in records if one.job_id], file)
        self._add_receivers(records)
        self._connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?)", (file, size))

    def _add_jobs(self, records: Sequence[Record], file: int) -> None:
        keys = list(dict.fromkeys((one.receiver, one.job_id) for one in records))
        summaries: dict[tuple[str, str], dict[str, Any]] = {}
        for key in keys:
            row = self._connection.execute("SELECT summary FROM jobs WHERE receiver = ? AND id = ?", key).fetchone()
            summaries[key] = {} if row is None else from_json(row[0])
        for one in records:
            key = one.receiver, one.job_id
            summaries[key] = with_record(summaries[key], one.body)
        self._connection.executemany(_PUT_JOB, [_job_row(key, summaries[key], file) for key in keys])

    def _add_receivers(self, records: Sequence[Record]) -> None:
        grouped: dict[str, list[Record]] = {}
        for one in records:
            grouped.setdefault(one.receiver, []).append(one)
        for receiver, some in grouped.items():
            newest = max(some, key=lambda one: one.seq)
            row = (receiver, str(newest.body.get("server") or ""), len(some), newest.seq, newest.body["at"])
            self._connection.execute(_PUT_RECEIVER, row)

    def read_up_to(self) -> dict[int, int]:
        """How much of each file is in the index, by the number of the file."""
        return dict(self._connection.execute("SELECT number, size FROM files"))

    def forget(self, file: int) -> None:
        """Remove everything of a file. Its records still count as stored, and are not taken again."""
        self._connection.execute(
            "UPDATE receivers SET forgotten = max(forgotten, coalesce((SELECT max(seq) FROM records"
            " WHERE receiver = receivers.id AND file = ?), 0))",
            (file,),
        )
        self._connection.execute("DELETE FROM records WHERE file = ?", (file,))
        self._connection.execute("DELETE FROM jobs WHERE file = ?", (file,))
        self._connection.execute("DELETE FROM files WHERE number = ?", (file,))

    def forget_what_came_before(self) -> None:
        """Called after the index was made from files of which the first are gone: numbers below those that are there
        were stored once, because servers send in order."""
        self._connection.execute(
            "UPDATE receivers SET forgotten = (SELECT min(seq) - 1 FROM records WHERE receiver = receivers.id)"
        )

    def after(self, place: tuple[int, int], limit: int) -> list[Place]:
        query = "SELECT file, offset, length FROM records WHERE (file, offset) > (?, ?) ORDER BY file, offset LIMIT ?"
        return [Place(*row) for row in self._connection.execute(query, (*place, limit))]

    def count_after(self, place: tuple[int, int]) -> int:
        query = "SELECT count(*) FROM records WHERE (file, offset) > (?, ?)"
        return int(self._connection.execute(query, place).fetchone()[0])

    def last_place(self) -> tuple[int, int]:
        row = self._connection.execute(
            "SELECT file, offset FROM records ORDER BY file DESC, offset DESC LIMIT 1"
        ).fetchone()
        return (0, 0) if row is None else (int(row[0]), int(row[1]))

    def rows(self, query: str, values: Iterable[object]) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, tuple(values)).fetchall()

    def close(self) -> None:
        self._connection.close()


def _job_row(key: tuple[str, str], summary: dict[str, Any], file: int) -> tuple[object, ...]:
    texts = [str(summary.get(name) or "") for name in ("name", "owner", "cluster", "state")]
    return (*key, *texts, summary["submittedAt"], file, to_json(summary))


def _parts(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    for first in range(0, len(numbers), _VARIABLES_AT_ONCE):
        yield numbers[first : first + _VARIABLES_AT_ONCE]
