"""A file that is complete is on disk before it has its name, and the name is on disk before anybody is told."""

import os
from pathlib import Path

import pytest

from muster.engine.data.packages import _append
from muster.lib.partial_files import digest_of

pytestmark = pytest.mark.fast


def test_a_package_is_synced_before_it_gets_its_name_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, partial = tmp_path / "packages" / "whole", tmp_path / "uploads" / "part"
    steps: list[tuple[str, bool]] = []
    real = os.fsync

    def noted(descriptor: int) -> None:
        steps.append((str(Path(f"/proc/self/fd/{descriptor}").readlink()), target.exists()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    _append(partial, b"first ", None, "")
    assert steps == [], "a piece of an upload need not be durable"
    (tmp_path / "both").write_bytes(b"first second")
    with (tmp_path / "both").open("rb") as file:
        digest = digest_of(file)[1].hexdigest()
    _append(partial, b"second", target, digest)
    assert steps == [(str(partial), False), (str(target.parent), True)]
    assert target.read_bytes() == b"first second"
