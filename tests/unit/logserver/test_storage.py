"""The file and its index: each record once, whatever happened to the process before."""

import errno
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from muster.logserver.history import BadQuery, History, JobQuery
from muster.logserver.line_files import InUse
from muster.logserver.records import Record, read_request
from muster.logserver.storage import DiskFull, Storage, StorageRefuses, Stored
from tests.parts.log_server import record

pytestmark = pytest.mark.fast
LARGE = 1 << 30


def records(*bodies: dict[str, Any]) -> list[Record]:
    return read_request(json.dumps({"records": bodies}).encode())


def numbered(first: int, last: int, **more: Any) -> list[Record]:
    return records(*(record(seq, **more) for seq in range(first, last + 1)))


def opened(folder: Path, max_bytes: int = LARGE, keep: int | None = None) -> Storage:
    return Storage(folder / "jobs.log", max_bytes, keep)


def numbers(folder: Path) -> list[int]:
    full = sorted(path for path in folder.glob("jobs.log.*") if path.suffix[1:].isdigit())
    files = [*full, folder / "jobs.log"]
    return [json.loads(line)["seq"] for file in files for line in file.read_bytes().splitlines()]


def listed(storage: Storage, **query: Any) -> list[dict[str, Any]]:
    history = History(storage.index_path, storage.files)
    try:
        items: list[dict[str, Any]] = history.jobs(JobQuery(query, limit=1000))["items"]
        return items
    finally:
        history.close()


def test_a_record_that_comes_again_is_stored_once(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    assert storage.store([numbered(1, 5)]) == [Stored(5, 0, 0)]
    assert storage.store([numbered(3, 7), numbered(6, 8), [*numbered(9, 9), *numbered(9, 9)]]) == [
        Stored(2, 3, 0),
        Stored(1, 2, 0),
        Stored(1, 1, 0),
    ]
    assert storage.store([numbered(1, 9, receiver="r2")]) == [Stored(9, 0, 0)]
    assert numbers(tmp_path) == [*range(1, 10), *range(1, 10)]
    storage.close()


def test_a_record_that_comes_late_is_stored_too(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    storage.store([numbered(10, 12)])
    assert storage.store([numbered(5, 10)]) == [Stored(5, 1, 0)]
    assert storage.store([numbered(5, 12)]) == [Stored(0, 8, 0)]
    storage.close()


def test_another_content_under_the_same_number_is_noticed_and_the_first_is_kept(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    storage.store([numbered(1, 2, name="first")])
    assert storage.store([numbered(1, 3, name="second")]) == [Stored(1, 2, 2)]
    assert [json.loads(line)["name"] for line in (tmp_path / "jobs.log").read_bytes().splitlines()] == [
        *("first", "first", "second")
    ]
    storage.close()


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_last_line_is_removed_and_its_record_is_taken_again(tmp_path: Path, cut: int) -> None:
    storage = opened(tmp_path)
    storage.store([numbered(1, 3)])
    storage.close()
    file, torn = tmp_path / "jobs.log", numbered(4, 4)[0].line[:-cut]
    with file.open("ab") as writing:
        writing.write(torn)
    storage = opened(tmp_path)
    assert numbers(tmp_path) == [1, 2, 3]
    assert storage.store([numbered(3, 4)]) == [Stored(1, 1, 0)]
    assert numbers(tmp_path) == [1, 2, 3, 4]
    storage.close()


def test_lines_that_were_written_but_not_indexed_are_known_after_a_start(tmp_path: Path) -> None:
    """The process died after the flush, and before the index was committed."""
    storage = opened(tmp_path)
    storage.store([numbered(1, 3)])
    storage.close()
    with (tmp_path / "jobs.log").open("ab") as file:
        file.write(b"".join(one.line for one in numbered(4, 6)))
    storage = opened(tmp_path)
    assert storage.store([numbered(1, 7)]) == [Stored(1, 6, 0)]
    assert numbers(tmp_path) == [1, 2, 3, 4, 5, 6, 7]
    storage.close()


@pytest.mark.parametrize("damage", ["removed", "no database", "another version"])
def test_the_index_is_made_again_from_the_lines(tmp_path: Path, damage: str) -> None:
    storage = opened(tmp_path, max_bytes=1500)
    for seq in range(1, 41):
        storage.store([numbered(seq, seq, name="n", state="Running")])
    before = listed(storage)
    storage.close()
    index = tmp_path / "jobs.log.db"
    if damage == "removed":
        for path in tmp_path.glob("jobs.log.db*"):
            path.unlink()
    elif damage == "no database":
        index.write_bytes(b"x" * 10_000)
    else:
        with sqlite3.connect(index) as connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()
    storage = opened(tmp_path, max_bytes=1500)
    assert listed(storage) == before
    assert len(before) == 5
    assert storage.store([numbered(1, 40)])[0].repeated == 40
    storage.close()


def test_full_files_are_rotated_and_the_oldest_are_removed_with_what_the_index_has_of_them(tmp_path: Path) -> None:
    storage = opened(tmp_path, max_bytes=1000, keep=2)
    for seq in range(1, 101):
        storage.store([numbered(seq, seq)])
    names = sorted(path.name for path in tmp_path.glob("jobs.log.0*"))
    assert len(names) == 2
    assert all((tmp_path / name).stat().st_size <= 1000 for name in (*names, "jobs.log"))
    kept = numbers(tmp_path)
    assert kept == list(range(kept[0], 101))
    assert {job["id"] for job in listed(storage)} == {f"job{seq // 10}" for seq in kept}
    assert storage.store([numbered(1, 100)]) == [Stored(0, 100, 0)], "what was removed is not taken again"
    storage.close()
    for path in tmp_path.glob("jobs.log.db*"):
        path.unlink()
    storage = opened(tmp_path, max_bytes=1000, keep=2)
    assert storage.store([numbered(1, 100)]) == [Stored(0, 100, 0)], "also after the index was made again"
    storage.close()


def test_a_process_that_died_while_it_rotated_goes_on(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    storage.store([numbered(1, 3)])
    storage.close()
    (tmp_path / "jobs.log").rename(tmp_path / "jobs.log.000001")
    storage = opened(tmp_path)
    assert storage.store([numbered(1, 4)]) == [Stored(1, 3, 0)]
    assert numbers(tmp_path) == [1, 2, 3, 4]
    assert (tmp_path / "jobs.log").read_bytes().count(b"\n") == 1
    storage.close()


def test_a_file_that_somebody_cut_is_read_anew(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    storage.store([numbered(1, 5)])
    storage.close()
    file = tmp_path / "jobs.log"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]) + b"what somebody wrote\n")
    storage = opened(tmp_path)
    assert storage.store([numbered(1, 5)]) == [Stored(3, 2, 0)]
    storage.close()


def test_two_log_servers_cannot_use_one_file(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    with pytest.raises(InUse):
        opened(tmp_path)
    storage.close()
    opened(tmp_path).close()


def test_what_could_not_be_flushed_is_not_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = opened(tmp_path)
    storage.store([numbered(1, 2)])

    def refuse(_descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", refuse)
        with pytest.raises(StorageRefuses):
            storage.store([numbered(3, 4)])
    assert numbers(tmp_path) == [1, 2]
    assert storage.store([numbered(1, 4)]) == [Stored(2, 2, 0)]
    assert numbers(tmp_path) == [1, 2, 3, 4]
    storage.close()


def test_an_index_that_has_no_room_leaves_no_lines_behind(tmp_path: Path) -> None:
    """Its size is limited, as that of a disk is."""
    storage = opened(tmp_path)
    storage.store([numbered(1, 2)])
    pages = storage.index.rows("PRAGMA page_count", ())[0][0]
    storage.index.rows(f"PRAGMA max_page_count = {pages}", ())
    with pytest.raises(DiskFull):
        storage.store([numbered(3, 3000)])
    assert numbers(tmp_path) == [1, 2]
    storage.index.rows("PRAGMA max_page_count = 1000000", ())
    assert storage.store([numbered(1, 3000)])[0].stored == 2998
    storage.close()


def test_jobs_are_listed_newest_first_in_pages(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    for n in range(25):
        at = f"2026-01-01T00:00:{n:02}.000Z"
        owner, state = ("li", "wang")[n % 2], ("Running", "Failed")[n % 3 == 0]
        storage.store([records(record(n + 1, jobId=f"j{n}", at=at, owner=owner, state=state, name=f"Net-{n}"))])
    history = History(storage.index_path, storage.files)
    found: list[str] = []
    cursor: str = ""
    while True:
        page = history.jobs(JobQuery({"owner": "li"}, limit=5, cursor=cursor))
        found += [job["id"] for job in page["items"]]
        if page["nextCursor"] is None:
            break
        cursor = page["nextCursor"]
    assert found == [f"j{n}" for n in range(24, -1, -2)]
    some = history.jobs(JobQuery({"state": "Failed"}, text="net-1", since="2026-01-01T00:00:10", limit=100))["items"]
    assert [job["name"] for job in some] == ["Net-18", "Net-15", "Net-12"]
    for wrong in ("x", "WzFd", "e30="):
        with pytest.raises(BadQuery):
            history.jobs(JobQuery({}, cursor=wrong))
    history.close()
    storage.close()
