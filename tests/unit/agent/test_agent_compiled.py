"""The compiled archive runs the same code as the archive itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from muster.agent.archive import build_archive
from muster.agent.batch.compiled import RUN, compiled_path
from muster.agent.batch.compiling import write_compiled

pytestmark = pytest.mark.fast
_TELL = RUN.format("compiled").replace("import main; main()", "import __file__ as found; print(found)")


@pytest.fixture
def archive(tmp_path: Path) -> str:
    return str(tmp_path / build_archive(tmp_path))


def _files_of_module(archive: str) -> str:

    command = [sys.executable, "-I", "-S", "-c", _TELL, archive]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_archive_is_used_until_there_is_a_compiled_one(archive: str) -> None:
    assert _files_of_module(archive).startswith(archive + "/")

    write_compiled(archive)

    assert _files_of_module(archive).startswith(compiled_path(archive) + "/")


def test_a_compiled_archive_of_another_python_is_passed_over(archive: str) -> None:
    Path(compiled_path(archive)).write_bytes(b"not an archive")

    assert _files_of_module(archive).startswith(archive + "/")


def test_a_folder_that_cannot_be_written_changes_nothing(archive: str) -> None:
    Path(compiled_path(archive)).mkdir()

    write_compiled(archive)

    assert _files_of_module(archive).startswith(archive + "/")
    assert not list(Path(archive).parent.glob("*.partial"))
