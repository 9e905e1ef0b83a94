"""One file there and back: what was interrupted goes on where it was, and nothing wrong is kept."""

import hashlib
import os
from pathlib import Path

import pytest

from muster.client.downloading import part_of
from muster.client.errors import MusterError
from muster.client.file_transfers import get, put, source_of
from muster.client.files import Files, RemotePath, Sending
from muster.client.piece_upload import CHUNK_BYTES
from tests.integration.api.people import unique
from tests.integration.files.conftest import Cabinet

SIZE = 2 * CHUNK_BYTES + 1000


@pytest.fixture
def local(tmp_path: Path) -> Path:
    path = tmp_path / "local"
    path.write_bytes(os.urandom(SIZE))
    return path


def begun(files: Files, local: Path, to: RemotePath, first: bytes) -> Sending:
    """An upload of the file that got this far."""
    sending = Sending(to, SIZE, hashlib.sha256(local.read_bytes()).hexdigest())
    assert files.put_piece(sending, 0, first) == (len(first), False)
    return sending


def part_for(files: Files, where: RemotePath, target: Path) -> Path:
    """What an interrupted get of this file leaves."""
    return part_of(source_of(files, where, files.stat(where)), target)


def partial(folder: Path) -> Path:
    (found,) = folder.glob(".muster-upload-*")
    return found


@pytest.fixture
def place(cabinet: Cabinet) -> tuple[RemotePath, Path]:
    """A folder of its own: what is asked for, and where that is."""
    name = unique("place")
    (cabinet.data / name).mkdir()
    return RemotePath("local", f"data/{name}/file"), cabinet.data / name


class Interrupted(Exception):
    pass


def test_an_interrupted_put_goes_on_where_it_was(cabinet: Cabinet, local: Path, place: tuple[RemotePath, Path]) -> None:
    to, folder = place
    moved = []

    def stop(count: int) -> None:
        moved.append(count)
        if sum(moved) >= CHUNK_BYTES:
            raise Interrupted

    with pytest.raises(Interrupted):
        put(cabinet.client.files, local, to, tell=stop)
    assert [path.name for path in folder.iterdir()] == [partial(folder).name]
    inode = partial(folder).stat().st_ino
    counts: list[int] = []
    put(cabinet.client.files, local, to, tell=counts.append)
    assert (folder / "file").read_bytes() == local.read_bytes()
    assert (folder / "file").stat().st_ino == inode
    assert sum(counts) == SIZE


def test_a_part_that_is_not_ours_is_dropped_and_sent_anew(
    cabinet: Cabinet, local: Path, place: tuple[RemotePath, Path]
) -> None:
    to, folder = place
    begun(cabinet.client.files, local, to, b"something else entirely")
    put(cabinet.client.files, local, to)
    assert (folder / "file").read_bytes() == local.read_bytes()
    assert len(list(folder.iterdir())) == 1


def test_a_small_file_over_a_wrong_part_arrives_at_the_second_try(
    cabinet: Cabinet, tmp_path: Path, place: tuple[RemotePath, Path]
) -> None:
    to, folder = place
    small = tmp_path / "small"
    small.write_bytes(b"the right bytes")
    sending = Sending(to, 15, hashlib.sha256(small.read_bytes()).hexdigest())
    cabinet.client.files.put_piece(sending, 0, b"wrong")
    put(cabinet.client.files, small, to)
    assert (folder / "file").read_bytes() == b"the right bytes"


def test_an_interrupted_get_goes_on_where_it_was(cabinet: Cabinet, local: Path, place: tuple[RemotePath, Path]) -> None:
    where, folder = place
    (folder / "file").write_bytes(local.read_bytes())
    target = local.with_name("target")
    part = part_for(cabinet.client.files, where, target)
    part.write_bytes(local.read_bytes()[:1_000_000])
    inode = part.stat().st_ino
    counts: list[int] = []
    get(cabinet.client.files, where, target, tell=counts.append)
    assert target.read_bytes() == local.read_bytes()
    assert target.stat().st_ino == inode
    assert 1_000_000 in counts
    assert not part.exists()


def test_a_part_of_an_earlier_version_is_not_gone_on_with_and_makes_way(
    cabinet: Cabinet, local: Path, place: tuple[RemotePath, Path]
) -> None:
    where, folder = place
    (folder / "file").write_bytes(b"before")
    target = local.with_name("target")
    earlier = part_for(cabinet.client.files, where, target)
    earlier.write_bytes(b"bef")
    (folder / "file").write_bytes(local.read_bytes())
    get(cabinet.client.files, where, target)
    assert target.read_bytes() == local.read_bytes()
    assert sorted(path.name for path in local.parent.iterdir()) == ["local", "target"]


def test_a_part_that_holds_something_else_is_found_out_and_dropped(
    cabinet: Cabinet, local: Path, place: tuple[RemotePath, Path]
) -> None:
    where, folder = place
    (folder / "file").write_bytes(local.read_bytes())
    target = local.with_name("target")
    part_for(cabinet.client.files, where, target).write_bytes(b"something else")
    with pytest.raises(MusterError, match="arrived with sha256"):
        get(cabinet.client.files, where, target)
    assert not target.exists()
    get(cabinet.client.files, where, target)
    assert target.read_bytes() == local.read_bytes()


def test_a_file_of_somebody_that_is_called_as_a_part_is_left_alone(
    cabinet: Cabinet, local: Path, place: tuple[RemotePath, Path]
) -> None:
    where, folder = place
    (folder / "file").write_bytes(local.read_bytes())
    mine = local.with_name("target.part")
    mine.write_bytes(b"mine")
    get(cabinet.client.files, where, local.with_name("target"))
    assert mine.read_bytes() == b"mine"


def test_a_file_that_is_whole_in_its_part_only_gets_its_name(
    cabinet: Cabinet, local: Path, place: tuple[RemotePath, Path]
) -> None:
    where, folder = place
    (folder / "file").write_bytes(local.read_bytes())
    target = local.with_name("target")
    local.rename(part_for(cabinet.client.files, where, target))
    get(cabinet.client.files, where, target)
    assert target.read_bytes() == (folder / "file").read_bytes()


def test_a_file_that_changes_on_the_way_is_not_kept(
    cabinet: Cabinet, local: Path, place: tuple[RemotePath, Path]
) -> None:
    where, folder = place
    (folder / "file").write_bytes(local.read_bytes())
    facts = cabinet.client.files.stat(where)
    (folder / "file").write_bytes(os.urandom(SIZE))
    target = local.with_name("target")
    with pytest.raises(MusterError, match="changed while it was fetched"):
        get(cabinet.client.files, where, target, facts=facts)
    assert not target.exists()


def test_executables_and_empty_files_travel_as_they_are(
    cabinet: Cabinet, tmp_path: Path, place: tuple[RemotePath, Path]
) -> None:
    to, folder = place
    script = tmp_path / "script"
    script.touch(0o755)
    put(cabinet.client.files, script, to)
    assert (folder / "file").stat().st_mode & 0o100
    get(cabinet.client.files, to, tmp_path / "back")
    assert (tmp_path / "back").stat().st_mode & 0o100
    assert (tmp_path / "back").read_bytes() == b""


def test_a_move_to_another_disk_copies_and_removes(cabinet: Cabinet, place: tuple[RemotePath, Path]) -> None:
    """On one disk it is a rename; the answer is the same."""
    where, folder = place
    (folder / "tree").mkdir()
    (folder / "tree" / "file").write_bytes(b"data")
    name = unique("moved")
    source = RemotePath("local", where.path.replace("/file", "/tree"))
    cabinet.client.files.move(source, RemotePath("local", f"scratch/{name}"))
    assert (cabinet.scratch / name / "file").read_bytes() == b"data"
    assert not (folder / "tree").exists()
