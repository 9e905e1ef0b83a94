"""The file and its index together: what is stored is in both, each record once.

The order is: begin a transaction of the index, write the lines, flush them, commit the index. After a crash before the
commit, the next start reads the lines that the index does not know. If the commit fails, the lines are removed again.
"""

import errno
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from muster.logserver.index import Index, IndexBroken, Place
from muster.logserver.line_files import LineFiles
from muster.logserver.records import Record, read_line

_log = structlog.get_logger("logserver")
_AT_ONCE = 5_000


class StorageRefuses(Exception):
    """Nothing of the request was stored. It may be sent again later."""


class DiskFull(StorageRefuses):
    pass


@dataclass(frozen=True, slots=True)
class Stored:
    stored: int
    repeated: int
    conflicts: int
    """Records with the number of another one, which differ from it. The first one is kept."""


class Storage:
    """The lines and their index. They are used by one thread at a time."""

    def __init__(self, path: Path, max_bytes: int, keep: int | None) -> None:
        """Raises InUse, or OSError if the file cannot be used."""
        self.files = LineFiles(path, max_bytes)
        self._keep = keep
        self.index_path = path.with_name(f"{path.name}.db")
        self.index = self._opened_index()
        self._catch_up()

    def store(self, requests: Sequence[Sequence[Record]]) -> list[Stored]:
        """Store the records of several requests by one flush. Raises StorageRefuses if none of them was stored."""
        try:
            return self._store(requests)
        except OSError as error:
            raise _refusal(error.strerror or str(error), is_full=error.errno in _FULL) from error
        except sqlite3.Error as error:
            is_full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            raise _refusal(f"the index: {error}", is_full=is_full) from error

    def close(self) -> None:
        self.index.close()
        self.files.close()

    def _store(self, requests: Sequence[Sequence[Record]]) -> list[Stored]:
        known = self.index.places([one for records in requests for one in records])
        fresh: dict[tuple[str, int], Record] = {}
        outcomes = [self._sorted_out(records, known, fresh) for records in requests]
        if fresh:
            self._write(list(fresh.values()))
            self._remove_oldest()
        return outcomes

    def _sorted_out(
        self,
        records: Sequence[Record],
        known: dict[tuple[str, int], Place | None],
        fresh: dict[tuple[str, int], Record],
    ) -> Stored:
        repeated = conflicts = 0
        for one in records:
            if one.key in known:
                place = known[one.key]
                earlier = None if place is None else self.files.line(place.file, place.offset, place.length)
            elif one.key in fresh:
                earlier = fresh[one.key].line
            else:
                fresh[one.key] = one
                continue
            repeated += 1
            conflicts += earlier is not None and earlier != one.line
        return Stored(len(records) - repeated, repeated, conflicts)

    def _write(self, records: Sequence[Record]) -> None:
        before, number = self.files.size, self.files.number
        try:
            with self.index.transaction():
                offsets = self.files.append([one.line for one in records])
                self.index.add(records, offsets, self.files.number, self.files.size)
        except sqlite3.Error:
            self.files.undo(before if self.files.number == number else 0)
            raise

    def _remove_oldest(self) -> None:
        if self._keep is None:
            return
        full = self.files.full_files()
        for number in full[: max(0, len(full) - self._keep)]:
            with self.index.transaction():
                self.index.forget(number)
            self.files.remove(number)
            _log.info("removed the oldest file", file=str(self.files.file(number)))

    def _opened_index(self) -> Index:
        try:
            return Index(self.index_path)
        except IndexBroken as error:
            return self._new_index(str(error))

    def _new_index(self, why: str) -> Index:
        _log.warning("the index is made again from the file", index=str(self.index_path), why=why)
        for suffix in ("", "-wal", "-shm"):
            self.index_path.with_name(self.index_path.name + suffix).unlink(missing_ok=True)
        return Index(self.index_path)

    def _catch_up(self) -> None:
        """Read what the index does not know, and forget what it knows of files that are gone."""
        numbers = [*self.files.full_files(), self.files.number]
        known = self.index.read_up_to()
        if any(known.get(number, 0) > self.files.file(number).stat().st_size for number in numbers):
            self.index.close()
            self.index = self._new_index("a file is shorter than it was")
            known = {}
        for number in sorted(known.keys() - set(numbers)):
            _log.warning("a file is gone, and its records with it", file=str(self.files.file(number)))
            with self.index.transaction():
                self.index.forget(number)
        for number in numbers:
            self._read(number, known.get(number, 0))
        if not known and numbers[0] > 1:
            with self.index.transaction():
                self.index.forget_what_came_before()

    def _read(self, number: int, start: int) -> None:
        batch: list[tuple[int, Record]] = []
        read = 0
        for offset, line in self.files.lines(number, start):
            try:
                batch.append((offset, read_line(line)))
            except ValueError as error:
                _log.warning("skipped a line that is no record", file=str(self.files.file(number)), error=str(error))
            if len(batch) == _AT_ONCE:
                read += self._add(number, batch)
                batch = []
        read += self._add(number, batch)
        if read:
            _log.info("read records that the index did not have", file=str(self.files.file(number)), records=read)

    def _add(self, number: int, batch: Sequence[tuple[int, Record]]) -> int:
        if not batch:
            return 0
        end = batch[-1][0] + len(batch[-1][1].line)
        with self.index.transaction():
            known = self.index.places([one for _, one in batch])
            fresh = {one.key: (offset, one) for offset, one in reversed(batch) if one.key not in known}
            found = sorted(fresh.values(), key=lambda pair: pair[0])
            self.index.add([one for _, one in found], [offset for offset, _ in found], number, end)
        return len(found)


_FULL = (errno.ENOSPC, errno.EDQUOT)


def _refusal(why: str, *, is_full: bool) -> StorageRefuses:
    return DiskFull(why) if is_full else StorageRefuses(why)
