"""Bringing outputs back: no name leads out of the target, and what broke off is gone on with."""

import asyncio
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.agent.tasks import outputs
from muster.backends.agents.flow_control import PIECE_BYTES, Pace
from muster.backends.agents.output_collection import OutputCollection, is_safe
from muster.client.errors import MusterError
from muster.client.output_transfers import place_in
from muster.domain.errors import BackendError, Unreachable

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
PARTS = st.sampled_from(["..", ".", "", "a", "b c", "...", "~", "\0", "\\", "c:", "é", "\udcff", "x" * 300])
PATHS = st.lists(PARTS | st.text(max_size=5), min_size=1, max_size=6).map("/".join)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@given(path=PATHS)
def test_a_name_that_is_taken_stays_below_its_folder(path: str) -> None:
    if is_safe(path):
        place = os.path.normpath(os.path.join("/target", path))  # noqa: PTH118
        assert place.startswith("/target/")
        assert "\0" not in path
        path.encode("utf-8")


@given(path=PATHS)
def test_a_download_stays_in_its_folder(path: str) -> None:
    try:
        place = place_in(Path("/target"), path)
    except MusterError:
        return
    assert os.path.normpath(place).startswith("/target/")


@pytest.mark.parametrize("path", [".git/config", "model/.git/hooks/pre-commit", "a/.GIT", ".git"])
def test_a_download_makes_no_repository(path: str) -> None:
    with pytest.raises(MusterError, match="repository of Git"):
        place_in(Path("/target"), path)
    assert place_in(Path("/target"), "a/.gitignore") == Path("/target/a/.gitignore")


@given(path=PATHS, names=st.lists(st.sampled_from(["a", "b", "link", "out"]), max_size=4))
def test_whatever_pattern_is_asked_only_files_inside_are_told(
    path: str, names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = tmp_path_factory.getbasetemp() / "escaping"
    work = base / "work"
    if not work.exists():
        (work / "a").mkdir(parents=True)
        (base / "secret").write_text("secret")
        (work / "a/b").write_text("b")
        (work / "link").symlink_to("../secret")
        (work / "out").symlink_to("..")
    for relative in (path, "/".join(names)):
        if "\0" in relative:
            continue
        for file in outputs.page(str(work), [outputs.Pattern(relative)], "")["files"]:
            assert file["path"] == "a/b"


class Node:
    """A working folder, read as the agent reads it."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.reads = self.bytes_read = 0
        self.cut_after: int | None = None
        self.names: list[dict[str, Any]] | None = None

    async def ask(self, node: str, op: str, /, **arguments: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        if op == "outputs_list":
            if self.names is not None:
                return {"files": self.names, "more": False, "skipped": 0, "too_deep": 0}
            patterns = [outputs.Pattern(text) for text in arguments["patterns"]]
            return outputs.page(str(self.work), patterns, arguments["after"])
        self.reads += 1
        if self.cut_after is not None and self.reads > self.cut_after:
            raise Unreachable("gone")
        self.bytes_read += arguments["limit"]
        return outputs.read(str(self.work), arguments["path"], arguments["offset"], arguments["limit"])


def collecting_from(node: Node) -> OutputCollection:
    pace = Pace()
    return OutputCollection(node.ask, lambda _: pace)


def work_with(tmp_path: Path, size: int) -> Node:
    (tmp_path / "work/model").mkdir(parents=True)
    (tmp_path / "work/model/w").write_bytes(os.urandom(size))
    (tmp_path / "work/empty").touch()
    return Node(tmp_path / "work")


async def test_files_come_as_they_are_with_their_digests(tmp_path: Path) -> None:
    node = work_with(tmp_path, 3 * PIECE_BYTES + 5)
    target = tmp_path / "outputs/1.worker-0"
    found = await collecting_from(node).collect("t", "n1", ["model/", "empty"], target, lambda size: True)
    assert [file.path for file in found.files] == ["empty", "model/w"]
    content = (node.work / "model/w").read_bytes()
    assert (target / "model/w").read_bytes() == content
    assert found.files[1].sha256 == hashlib.sha256(content).hexdigest()


async def test_what_broke_off_is_gone_on_with_and_what_is_here_is_not_read_again(tmp_path: Path) -> None:
    node = work_with(tmp_path, 20 * PIECE_BYTES)
    target = tmp_path / "outputs/1.worker-0"
    collecting = collecting_from(node)
    node.cut_after = 10
    with pytest.raises(BackendError):
        await collecting.collect("t", "n1", ["model/"], target, lambda size: True)
    node.cut_after = None
    await collecting.collect("t", "n1", ["model/"], target, lambda size: True)
    assert 20 * PIECE_BYTES <= node.bytes_read < 25 * PIECE_BYTES
    assert (target / "model/w").read_bytes() == (node.work / "model/w").read_bytes()
    node.reads = 0
    again = await collecting.collect("t", "n1", ["model/"], target, lambda size: True)
    assert node.reads == 0
    assert again.files[0].size == 20 * PIECE_BYTES


async def test_a_file_that_changed_since_begins_anew(tmp_path: Path) -> None:
    node = work_with(tmp_path, 20 * PIECE_BYTES)
    target = tmp_path / "outputs/1.worker-0"
    node.cut_after = 10
    with pytest.raises(BackendError):
        await collecting_from(node).collect("t", "n1", ["model/"], target, lambda size: True)
    node.cut_after = None
    (node.work / "model/w").write_bytes(b"other")
    await collecting_from(node).collect("t", "n1", ["model/"], target, lambda size: True)
    assert (target / "model/w").read_bytes() == b"other"


async def test_names_that_lead_out_are_left_out_whatever_the_node_says(tmp_path: Path) -> None:
    node = work_with(tmp_path, 1)
    node.names = [{"path": path, "size": 1, "mtime": 1.0} for path in ("../up", "/etc/x", "a/../../b", "a//b", ".")]
    found = await collecting_from(node).collect("t", "n1", ["**"], tmp_path / "outputs/t", lambda size: True)
    assert (found.files, len(found.left_out)) == ((), 5)
    assert not (tmp_path / "outputs").exists()


async def test_what_does_not_fit_is_left_out_by_name(tmp_path: Path) -> None:
    node = work_with(tmp_path, 100)
    found = await collecting_from(node).collect("t", "n1", ["**"], tmp_path / "outputs/t", lambda size: size < 50)
    assert ([file.path for file in found.files], found.left_out) == (["empty"], ("model/w",))
