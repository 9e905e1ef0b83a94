"""Files that are received in pieces, and have holes."""

import hashlib
from pathlib import Path

import pytest

from muster.lib.partial_files import PartialFile

pytestmark = pytest.mark.fast


def test_zeros_that_are_received_take_no_room(tmp_path: Path) -> None:
    pieces = [b"begin", bytes(1 << 20), b"\0middle\0", bytes(1 << 20), b"end", bytes(8192)]
    whole = b"".join(pieces)
    target = tmp_path / "target"
    with PartialFile(tmp_path / "partial") as file:
        for piece in pieces[:3]:
            file.append(piece)
    with PartialFile(tmp_path / "partial") as file:
        for piece in pieces[3:]:
            file.append(piece)
        file.commit(target, hashlib.sha256(whole).hexdigest())
    assert target.read_bytes() == whole
    assert target.stat().st_blocks * 512 < 1 << 20
