"""A file that is replaced is whole at every moment, and its new name is on disk before anybody is told."""

import os
import stat
from pathlib import Path

import pytest

from muster.lib.atomic_files import write_atomically
from muster.receivers.small_files import write_text
from muster.settings.private_files import write_private

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("write", [write_atomically, write_text, write_private])
def test_what_is_written_is_on_disk_before_its_name_and_its_folder_after(
    write: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(write)
    target = tmp_path / "state"
    target.write_text("before")
    steps: list[tuple[str, str]] = []
    real = os.fsync

    def noted(descriptor: int) -> None:
        what = Path(f"/proc/self/fd/{descriptor}").readlink()
        steps.append(("folder" if what == tmp_path else "file", target.read_text()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    write(target, "after")
    assert steps == [("file", "before"), ("folder", "after")]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_what_cannot_be_written_leaves_the_file_as_it_was_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "state"
    target.write_text("before")
    (tmp_path / ".state.new").write_text("of a process that was killed")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(target, "\ud800")
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
