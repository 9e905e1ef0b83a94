"""Inputs as they are written, and what is packed and sent of them."""

import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from muster import Client, Job
from muster.agent.tasks.packages import unpack
from muster.client.errors import MusterError
from muster.client.inputs import GivenInput, missing_inputs, read_inputs
from muster.client.packing import pack_input
from tests.unit.client.tiny_server import Answer, TinyServer, a_job

pytestmark = pytest.mark.fast
DIGEST = "a" * 64


def test_inputs_are_written_short_or_long(tmp_path: Path) -> None:
    data = GivenInput("train", tmp_path / "data/train")
    assert read_inputs("data/train", tmp_path) == (data,)
    assert read_inputs(["./data/train"], tmp_path) == (data,)
    assert read_inputs({"source": "data/train", "target": "x/y"}, tmp_path) == (
        GivenInput("x/y", tmp_path / "data/train"),
    )
    assert read_inputs([f"{DIGEST}/rows.csv"], tmp_path) == (GivenInput("rows.csv", source=f"{DIGEST}/rows.csv"),)


@pytest.mark.parametrize("value", [None, 3, [3], [{"source": 3}], [{"target": "x"}], [{"source": "a", "traget": "b"}]])
def test_what_is_not_understood_is_left_to_the_server(value: Any, tmp_path: Path) -> None:
    assert read_inputs(value, tmp_path) is None


def test_an_input_is_packed_whole_whatever_git_ignores(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / ".gitignore").write_text("*\n")
    (folder / "__pycache__/x").write_text("x")
    (folder / "rows").write_text("rows")
    with pack_input(folder) as one, pack_input(folder) as two:
        assert one.digest == two.digest
        (tmp_path / "archive").write_bytes(one.file.read())
    unpack(str(tmp_path / "archive"), one.digest, str(tmp_path / "there"))
    found = sorted(str(path.relative_to(tmp_path / "there")) for path in (tmp_path / "there").rglob("*"))
    assert found == [".gitignore", "__pycache__", "__pycache__/x", "rows"]


def test_a_file_is_packed_under_its_name_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1,2")
    (tmp_path / "link.csv").symlink_to("rows.csv")
    for name in ("rows.csv", "link.csv"):
        with pack_input(tmp_path / name) as package, tarfile.open(fileobj=package.file) as tar:
            assert tar.getnames() == [name]


def test_too_large_an_input_is_refused_with_another_way(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("12345")
    with pytest.raises(MusterError) as refused:
        pack_input(tmp_path / "rows", limit_bytes=4)
    assert "shared folder" in refused.value.hint


def test_what_cannot_be_packed_of_an_input_is_not_to_be_ignored_but_moved(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows/out").symlink_to("/etc/passwd")
    with pytest.raises(MusterError) as refused:
        pack_input(tmp_path / "rows")
    assert refused.value.hint is not None
    assert "inputs are sent completely" in refused.value.hint
    assert ".musterignore" not in refused.value.hint


def test_a_pipe_is_no_input(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MusterError, match="neither a file nor a folder"):
        pack_input(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("source", "told"),
    [("none", "relative to the job file"), ("lab:data/rows", "`mounts: [{source: data/rows, target: rows}]`")],
)
def test_a_missing_input_is_told_with_where_to_look(source: str, told: str, tmp_path: Path) -> None:
    given = read_inputs(source, tmp_path)
    assert given is not None
    [problem] = missing_inputs(given)
    assert told in problem.hint


def test_submit_names_what_was_sent(server: TinyServer, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1,2")
    (tmp_path / "job.yaml").write_text("name: x\ncommand: ls\ninputs: {source: rows.csv, target: in/rows}\n")
    with pack_input(tmp_path / "rows.csv") as package:
        known = {"digest": package.digest, "size": package.size, "received": package.size, "complete": True}
    server.on("GET", f"/packages/{package.digest}", Answer(200, known))
    server.on("POST", "/jobs", Answer(201, a_job()))
    client = Client(server.url, "t")
    client.submit(tmp_path / "job.yaml")
    client.submit(
        Job(
            name="x", command="ls", inputs=[{"source": str(tmp_path / "rows.csv"), "target": "in/rows"}], outputs=["m/"]
        )
    )
    sent = [{"source": f"{package.digest}/rows.csv", "target": "in/rows"}]
    first, second = (asked.json for asked in server.requests("POST", "/jobs"))
    assert first["inputs"] == second["inputs"] == sent
    assert second["spec"] == {"name": "x", "command": "ls", "outputs": ["m/"]}


def test_many_jobs_at_once_may_name_inputs_by_digest(server: TinyServer) -> None:
    server.on("POST", "/jobs:bulk", Answer(201, {"items": []}))
    client = Client(server.url, "t")
    client.submit_many([{"name": "x", "command": "ls", "inputs": [{"source": DIGEST, "target": "d"}]}])
    assert server.asked[0].json["specs"][0]["inputs"] == [{"source": DIGEST, "target": "d"}]
