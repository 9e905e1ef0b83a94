"""Archives that a task sends. A hostile one writes nothing where it should not."""

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from muster.client.errors import MusterError
from muster.client.received_tree import put, received_beside

pytestmark = pytest.mark.fast


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644, content: bytes = b"") -> Any:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mode, member.size = kind, link, mode, len(content)
    return member, content


def archive(*entries: Any) -> io.BytesIO:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as file:
        for member, content in entries:
            file.addfile(member, io.BytesIO(content))
    made.seek(0)
    return made


def unpacked(target: Path, stream: Any) -> list[str]:
    warnings: list[str] = []
    with received_beside(target, lambda count: None, warnings.append) as tree:
        tree.unpack(stream)
        put(tree.content, target)
    return warnings


def names(folder: Path) -> Iterable[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


FOLDER = entry(".", tarfile.DIRTYPE, mode=0o755)


def test_a_folder_and_a_file_are_unpacked_and_nothing_else_is_left(tmp_path: Path) -> None:
    unpacked(
        tmp_path / "out",
        archive(
            FOLDER,
            entry("./sub", tarfile.DIRTYPE),
            entry("./sub/a", content=b"1", mode=0o4777),
            entry("./link", tarfile.SYMTYPE, "sub/a"),
            entry("./hard", tarfile.LNKTYPE, "./sub/a"),
        ),
    )
    assert names(tmp_path) == ["out", "out/hard", "out/link", "out/sub", "out/sub/a"]
    assert (tmp_path / "out/sub/a").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "out/hard").read_bytes() == b"1"
    unpacked(tmp_path / "one", archive(entry("./whatever", content=b"2")))
    assert (tmp_path / "one").read_bytes() == b"2"


@pytest.mark.parametrize(
    "entries",
    [
        [FOLDER, entry("../evil", content=b"x")],
        [FOLDER, entry("a/../../evil", content=b"x")],
        [FOLDER, entry("/evil", content=b"x")],
        [FOLDER, entry("link", tarfile.SYMTYPE, "."), entry("link/evil", content=b"x")],
        [FOLDER, entry("a", content=b"1"), entry("a", content=b"2")],
        [FOLDER, entry("hard", tarfile.LNKTYPE, "../../secret")],
        [FOLDER, entry("hard", tarfile.LNKTYPE, "/etc/passwd")],
    ],
)
def test_what_does_not_stay_in_its_folder_is_refused_and_leaves_nothing(tmp_path: Path, entries: Any) -> None:
    (tmp_path / "secret").write_text("mine")
    with pytest.raises((MusterError, OSError)):
        unpacked(tmp_path / "out", archive(*entries))
    assert names(tmp_path) == ["secret"]


@pytest.mark.parametrize("link", ["/etc/passwd", "../secret", "sub/../../secret", ""])
def test_links_that_lead_out_are_left_out(tmp_path: Path, link: str) -> None:
    warnings = unpacked(tmp_path / "out", archive(FOLDER, entry("link", tarfile.SYMTYPE, link)))
    assert names(tmp_path) == ["out"]
    assert "leads out" in warnings[0]


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices_are_left_out(tmp_path: Path, kind: bytes) -> None:
    warnings = unpacked(tmp_path / "out", archive(FOLDER, entry("dev", kind)))
    assert names(tmp_path) == ["out"]
    assert "neither a file nor a folder" in warnings[0]


def test_headers_without_end_are_not_kept_in_memory(tmp_path: Path) -> None:
    long = tarfile.TarInfo("long")
    long.type, long.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    with pytest.raises(MusterError, match="not taken"):
        unpacked(tmp_path / "out", io.BytesIO(long.tobuf(tarfile.GNU_FORMAT)))
    assert names(tmp_path) == []


def test_a_file_that_was_cut_off_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "good").write_text("good")
    whole = archive(entry("good", content=b"b" * 100_000)).getvalue()
    with pytest.raises(MusterError):
        unpacked(tmp_path / "good", io.BytesIO(whole[:50_000]))
    assert (tmp_path / "good").read_text() == "good"
    assert names(tmp_path) == ["good"]


def test_folders_are_joined_and_files_replaced_but_not_through_links(tmp_path: Path) -> None:
    (tmp_path / "out/sub").mkdir(parents=True)
    (tmp_path / "out/sub/old").write_text("old")
    (tmp_path / "out/sub/a").write_text("before")
    stream = archive(FOLDER, entry("sub", tarfile.DIRTYPE), entry("sub/a", content=b"after"))
    unpacked(tmp_path / "out", stream)
    assert (tmp_path / "out/sub/a").read_text() == "after"
    assert (tmp_path / "out/sub/old").read_text() == "old"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "through").mkdir()
    (tmp_path / "through/sub").symlink_to(tmp_path / "elsewhere")
    stream.seek(0)
    with pytest.raises(NotADirectoryError):
        unpacked(tmp_path / "through", stream)
    assert names(tmp_path / "elsewhere") == []
