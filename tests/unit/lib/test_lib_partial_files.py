"""A file that is received in pieces gets its final name only when it is complete and verified."""

import hashlib
import io
import os
from pathlib import Path

import pytest

from muster.lib.partial_files import PartialFile, WrongDigest, digest_of, size_of

pytestmark = pytest.mark.fast
DATA = os.urandom(3_000_000)
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.mark.parametrize("received", [0, 1, 1_000_000, len(DATA)])
def test_what_was_received_before_is_continued(tmp_path: Path, received: int) -> None:
    path = tmp_path / "parts" / "x"
    path.parent.mkdir()
    path.write_bytes(DATA[:received])
    with PartialFile(path, len(DATA)) as file:
        assert file.size == received
        file.append(DATA[received:])
        assert file.commit(tmp_path / "new" / "whole", SHA256, mtime=1000.0) == SHA256
    assert (tmp_path / "new" / "whole").read_bytes() == DATA
    assert (tmp_path / "new" / "whole").stat().st_mtime == 1000.0
    assert size_of(path) is None


def test_pieces_are_appended_over_several_openings(tmp_path: Path) -> None:
    for piece in (DATA[:10], DATA[10:2_000_000], DATA[2_000_000:]):
        with PartialFile(tmp_path / "part") as file:
            file.append(piece)
    assert size_of(tmp_path / "part") == len(DATA)
    with PartialFile(tmp_path / "part") as file:
        assert file.commit(tmp_path / "whole") == SHA256


def test_a_partial_file_that_is_too_long_begins_again(tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(b"longer than that")
    with PartialFile(tmp_path / "part", 4) as file:
        assert file.size == 0
        file.append(b"data")
        file.commit(tmp_path / "whole", hashlib.sha256(b"data").hexdigest())
    assert (tmp_path / "whole").read_bytes() == b"data"


def test_wrong_bytes_are_removed_and_what_was_there_stays(tmp_path: Path) -> None:
    (tmp_path / "whole").write_bytes(b"before")
    with PartialFile(tmp_path / "part") as file:
        file.append(b"wrong")
        with pytest.raises(WrongDigest) as wrong:
            file.commit(tmp_path / "whole", SHA256)
    assert (wrong.value.found, wrong.value.expected) == (hashlib.sha256(b"wrong").hexdigest(), SHA256)
    assert os.listdir(tmp_path) == ["whole"]  # noqa: PTH208
    assert (tmp_path / "whole").read_bytes() == b"before"


@pytest.mark.parametrize(("length", "count"), [(None, len(DATA)), (0, 0), (5, 5), (2_000_000, 2_000_000)])
def test_the_digest_of_a_beginning(length: int | None, count: int) -> None:
    found, digest = digest_of(io.BytesIO(DATA), length)
    assert (found, digest.hexdigest()) == (count, hashlib.sha256(DATA[:count]).hexdigest())
