"""Archives as an enemy would make them. Each must be refused, and nothing of it may be left anywhere."""

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.agent.tasks.packages import PackageError, PackageLimits, unpack

pytestmark = pytest.mark.fast

Fill = Callable[[tarfile.TarFile], None]


def file(tar: tarfile.TarFile, name: str, content: bytes = b"x", mode: int = 0o644) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), mode
    tar.addfile(info, io.BytesIO(content))


def special(tar: tarfile.TarFile, name: str, kind: bytes, link: str = "") -> None:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    tar.addfile(info)


def pack(tmp_path: Path, fill: Fill) -> tuple[str, str]:
    path = tmp_path / "package.tar.gz"
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        fill(tar)
    return str(path), hashlib.sha256(path.read_bytes()).hexdigest()


def absolute_name(tar: tarfile.TarFile) -> None:
    file(tar, "/tmp/muster-evil")


def parent_name(tar: tarfile.TarFile) -> None:
    file(tar, "../evil")


def hidden_parent_name(tar: tarfile.TarFile) -> None:
    file(tar, "a/b/../../../evil")


def absolute_symlink(tar: tarfile.TarFile) -> None:
    special(tar, "link", tarfile.SYMTYPE, "/etc")


def climbing_symlink(tar: tarfile.TarFile) -> None:
    special(tar, "a/link", tarfile.SYMTYPE, "../../outside")


def symlink_by_symlink(tar: tarfile.TarFile) -> None:
    special(tar, "dot", tarfile.SYMTYPE, ".")
    special(tar, "up", tarfile.SYMTYPE, "dot/..")


def symlink_by_symlink_backwards(tar: tarfile.TarFile) -> None:
    special(tar, "up", tarfile.SYMTYPE, "sub/dot/../../..")
    special(tar, "sub/dot", tarfile.SYMTYPE, "..")


def write_through_symlink(tar: tarfile.TarFile) -> None:
    special(tar, "here", tarfile.SYMTYPE, ".")
    file(tar, "here/evil")


def folder_through_symlink(tar: tarfile.TarFile) -> None:
    special(tar, "here", tarfile.SYMTYPE, "elsewhere")
    special(tar, "here", tarfile.DIRTYPE)


def hard_link_outside(tar: tarfile.TarFile) -> None:
    special(tar, "stolen", tarfile.LNKTYPE, "/etc/passwd")


def hard_link_climbing(tar: tarfile.TarFile) -> None:
    special(tar, "stolen", tarfile.LNKTYPE, "../package.tar.gz")


def hard_link_to_symlink(tar: tarfile.TarFile) -> None:
    special(tar, "link", tarfile.SYMTYPE, "target")
    special(tar, "stolen", tarfile.LNKTYPE, "link")


def device(tar: tarfile.TarFile) -> None:
    special(tar, "null", tarfile.CHRTYPE)


def block_device(tar: tarfile.TarFile) -> None:
    special(tar, "disk", tarfile.BLKTYPE)


def pipe(tar: tarfile.TarFile) -> None:
    special(tar, "pipe", tarfile.FIFOTYPE)


def setuid(tar: tarfile.TarFile) -> None:
    file(tar, "su", mode=0o4755)


def setgid(tar: tarfile.TarFile) -> None:
    file(tar, "sg", mode=0o2755)


def too_many_entries(tar: tarfile.TarFile) -> None:
    for number in range(51):
        file(tar, str(number))


def too_many_replacements(tar: tarfile.TarFile) -> None:
    for _ in range(12):
        file(tar, "same")


def too_many_replaced_links(tar: tarfile.TarFile) -> None:
    for _ in range(12):
        special(tar, "same", tarfile.SYMTYPE, "there")


def too_many_bytes(tar: tarfile.TarFile) -> None:
    file(tar, "big", bytes(100_001))


def too_long_path(tar: tarfile.TarFile) -> None:
    file(tar, "/".join(["d" * 50] * 30))


def too_long_name(tar: tarfile.TarFile) -> None:
    file(tar, "n" * 256)


def file_as_folder(tar: tarfile.TarFile) -> None:
    file(tar, "a")
    file(tar, "a/b")


def file_over_folder(tar: tarfile.TarFile) -> None:
    file(tar, "a/b")
    file(tar, "a")


def replaces_root(tar: tarfile.TarFile) -> None:
    special(tar, ".", tarfile.SYMTYPE, "x")


def header(tar: tarfile.TarFile, kind: bytes, content: bytes) -> None:
    """A member that extends the next one. `addfile` would make a header of its own for it."""
    info = tarfile.TarInfo("extension")
    info.type, info.size = kind, len(content)
    assert tar.fileobj is not None
    tar.fileobj.write(info.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % 512))


def huge_pax_header(tar: tarfile.TarFile) -> None:
    header(tar, tarfile.XHDTYPE, b"0" * (1 << 20))
    file(tar, "a")


def huge_global_header(tar: tarfile.TarFile) -> None:
    header(tar, tarfile.XGLTYPE, b"0" * (1 << 20))
    file(tar, "a")


def huge_gnu_name(tar: tarfile.TarFile) -> None:
    header(tar, tarfile.GNUTYPE_LONGNAME, b"n" * (1 << 20))
    file(tar, "a")


def header_in_header(tar: tarfile.TarFile) -> None:
    for _ in range(2000):
        header(tar, tarfile.GNUTYPE_LONGNAME, b"name\0")
    file(tar, "a")


def sparse_file(tar: tarfile.TarFile) -> None:
    special(tar, "sparse", tarfile.GNUTYPE_SPARSE)


def sparse_file_by_pax_header(tar: tarfile.TarFile) -> None:
    words = [b"GNU.sparse.major=1\n", b"GNU.sparse.minor=0\n", b"GNU.sparse.name=a\n", b"GNU.sparse.realsize=9\n"]
    header(tar, tarfile.XHDTYPE, b"".join(b"%d %s" % (len(word) + 3, word) for word in words))
    file(tar, "a", b"1\n" * 500)


MALICIOUS = [
    huge_pax_header,
    huge_global_header,
    huge_gnu_name,
    header_in_header,
    sparse_file,
    sparse_file_by_pax_header,
    absolute_name,
    parent_name,
    hidden_parent_name,
    absolute_symlink,
    climbing_symlink,
    symlink_by_symlink,
    symlink_by_symlink_backwards,
    write_through_symlink,
    folder_through_symlink,
    hard_link_outside,
    hard_link_climbing,
    hard_link_to_symlink,
    device,
    block_device,
    pipe,
    setuid,
    setgid,
    too_many_entries,
    too_many_replacements,
    too_many_replaced_links,
    too_many_bytes,
    too_long_path,
    too_long_name,
    file_as_folder,
    file_over_folder,
    replaces_root,
]


@pytest.mark.parametrize("fill", MALICIOUS, ids=lambda fill: fill.__name__)
def test_malicious_archive_is_refused_and_leaves_nothing(tmp_path: Path, fill: Fill) -> None:
    path, digest = pack(tmp_path, fill)
    task = tmp_path / "task"
    task.mkdir()
    with pytest.raises(PackageError):
        unpack(path, digest, str(task / "work"), PackageLimits(entries=50, total_bytes=100_000, replaced=10))
    assert list(task.iterdir()) == []
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["package.tar.gz", "task"]
    assert not Path("/tmp/muster-evil").exists()


def harmless(tar: tarfile.TarFile) -> None:
    special(tar, "./", tarfile.DIRTYPE)
    file(tar, "./run.sh", b"echo hi", 0o755)
    file(tar, "src/deep/er/a.txt", b"first")
    file(tar, "src/deep/er/a.txt", b"second wins")
    special(tar, "src/link", tarfile.SYMTYPE, "deep/er")
    special(tar, "src/dangling", tarfile.SYMTYPE, "../not/there")
    special(tar, "hard", tarfile.LNKTYPE, "run.sh")


def test_ordinary_archive_is_unpacked_with_links_and_modes(tmp_path: Path) -> None:
    path, digest = pack(tmp_path, harmless)
    work = tmp_path / "work"
    unpack(path, digest, str(work))
    assert (work / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (work / "hard").samefile(work / "run.sh")
    assert (work / "src/link/a.txt").read_bytes() == b"second wins"
    assert (work / "src/dangling").is_symlink()


def test_unpacking_again_keeps_what_is_complete(tmp_path: Path) -> None:
    path, digest = pack(tmp_path, harmless)
    work = tmp_path / "work"
    unpack(path, digest, str(work))
    (work / "checkpoint").write_text("kept")
    unpack(path, digest, str(work))
    assert (work / "checkpoint").read_text() == "kept"


def test_other_digest_is_refused(tmp_path: Path) -> None:
    path, _ = pack(tmp_path, harmless)
    with pytest.raises(PackageError, match="digest"):
        unpack(path, "0" * 64, str(tmp_path / "work"))
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_cut_or_empty_file_is_refused(tmp_path: Path, keep: int) -> None:
    path, _ = pack(tmp_path, lambda tar: file(tar, "a", b"".join(bytes([i % 251]) for i in range(5000))))
    Path(path).write_bytes(Path(path).read_bytes()[:keep])
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    with pytest.raises(PackageError):
        unpack(path, digest, str(tmp_path / "work"))
    assert not (tmp_path / "work").exists()


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="cannot be opened"):
        unpack(str(tmp_path / "none"), "0" * 64, str(tmp_path / "work"))
