"""Fetching files: resumed over broken connections and between tries, checked, never outside the folder."""

import hashlib
import time
from pathlib import Path
from typing import Any

import pytest

from muster import Client
from muster.client.downloading import KEPT_FROM_BYTES, PART_PREFIX
from muster.client.errors import MusterError
from muster.client.retry_window import TRIES
from tests.unit.client.tiny_server import DROP, Answer, Asked, TinyServer, a_job, problem

pytestmark = pytest.mark.fast
DATA = b"weights" * (KEPT_FROM_BYTES // 7 + 1)


def told(path: str = "model/w", data: bytes = DATA) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    return {"path": path, "size": len(data), "sha256": digest, "modifiedAt": "2026-01-02T03:04:05.678Z", "task": "t"}


def listing(*items: dict[str, Any]) -> Answer:
    return Answer(200, {"items": list(items), "attempt": 1, "complete": True, "leftOut": [], "problems": []})


def served(asked: Asked) -> Answer:
    start = int(asked.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
    return Answer(206 if start else 200, pieces=[DATA[start:]])


@pytest.fixture
def address(server: TinyServer) -> str:
    job = a_job()
    server.on("GET", f"/jobs/{job['id']}", Answer(200, job))
    server.on("GET", f"/jobs/{job['id']}/outputs", listing(told()))
    return f"/jobs/{job['id']}/outputs"


def download(server: TinyServer, folder: Path) -> list[Path]:
    return Client(server.url, "t").job(a_job()["id"]).download(folder)


def test_files_are_fetched_once(server: TinyServer, address: str, tmp_path: Path) -> None:
    server.on("GET", f"{address}/model/w", served)
    for _ in range(2):
        (file,) = download(server, tmp_path / "got")
        assert file.read_bytes() == DATA
    assert len(server.requests("GET", f"{address}/model/w")) == 1


def test_a_broken_connection_is_gone_on_from_where_it_broke(server: TinyServer, address: str, tmp_path: Path) -> None:
    server.on("GET", f"{address}/model/w", Answer(200, pieces=[DATA[:100]], cut=True), served)
    (file,) = download(server, tmp_path)
    assert file.read_bytes() == DATA
    assert server.requests("GET", f"{address}/model/w")[1].headers["Range"] == "bytes=100-"


def test_what_knows_no_ranges_is_read_from_its_beginning(server: TinyServer, address: str, tmp_path: Path) -> None:
    server.on(
        "GET",
        f"{address}/model/w",
        Answer(200, pieces=[DATA[:100]], cut=True),
        Answer(200, pieces=[DATA[:70], DATA[70:5000], DATA[5000:]]),
    )
    (file,) = download(server, tmp_path)
    assert file.read_bytes() == DATA


def test_a_server_that_cannot_answer_for_a_moment_is_asked_again(
    server: TinyServer, address: str, tmp_path: Path
) -> None:
    away = problem(503, "unavailable", "the node is away")
    server.on("GET", f"{address}/model/w", Answer(200, pieces=[DATA[:100]], cut=True), away, served)
    (file,) = download(server, tmp_path)
    assert file.read_bytes() == DATA


def test_what_changes_between_two_connections_is_refused(server: TinyServer, address: str, tmp_path: Path) -> None:
    first = Answer(200, pieces=[DATA[:100]], cut=True, headers={"ETag": '"one"'})
    server.on("GET", f"{address}/model/w", first, Answer(206, pieces=[DATA[100:]], headers={"ETag": '"two"'}))
    with pytest.raises(MusterError, match="changed while it was fetched"):
        download(server, tmp_path)


def test_what_an_earlier_try_left_is_used(
    server: TinyServer, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    broken = Answer(200, pieces=[DATA[:50]], cut=True)
    server.on("GET", f"{address}/model/w", broken, *[DROP] * TRIES, served)
    with pytest.raises(MusterError, match="no Muster server"):
        download(server, tmp_path)
    (part,) = (tmp_path / "model").iterdir()
    assert part.name.startswith(PART_PREFIX)
    asked = len(server.requests("GET", f"{address}/model/w"))
    (file,) = download(server, tmp_path)
    assert file.read_bytes() == DATA
    assert server.requests("GET", f"{address}/model/w")[asked].headers["Range"] == "bytes=50-"
    assert list((tmp_path / "model").iterdir()) == [file]


def test_a_small_file_that_broke_off_leaves_nothing(
    server: TinyServer, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    server.on("GET", address, listing(told(data=b"small")))
    server.on("GET", f"{address}/model/w", DROP)
    with pytest.raises(MusterError, match="no Muster server"):
        download(server, tmp_path)
    assert list((tmp_path / "model").iterdir()) == []


def test_a_full_disk_is_told_as_that_and_nothing_is_asked_again(
    server: TinyServer, address: str, tmp_path: Path
) -> None:
    server.on("GET", f"{address}/model/w", served)
    (tmp_path / "model").mkdir()
    names = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in ("w", str(told()["sha256"]))]
    (tmp_path / "model" / f"{PART_PREFIX}{names[0]}-{names[1]}").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        download(server, tmp_path)
    assert len(server.requests("GET", f"{address}/model/w")) == 1


def test_wrong_content_gets_no_name(server: TinyServer, address: str, tmp_path: Path) -> None:
    server.on("GET", f"{address}/model/w", Answer(200, pieces=[b"x" * len(DATA)]))
    with pytest.raises(MusterError, match="arrived with sha256"):
        download(server, tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "muster-home" not in str(path)]


@pytest.mark.parametrize("path", ["../up", "/etc/x", "a/../../b", "a//b"])
def test_a_name_that_leads_out_is_refused(server: TinyServer, address: str, tmp_path: Path, path: str) -> None:
    server.on("GET", address, listing(told(path)))
    with pytest.raises(MusterError, match="does not stay"):
        download(server, tmp_path / "got")


def test_a_listing_tells_what_is_left_out_and_missing(server: TinyServer, address: str) -> None:
    answer = {"items": [], "attempt": 2, "complete": False, "leftOut": ["big"], "problems": ["n1: away"]}
    server.on("GET", address, Answer(200, answer))
    found = Client(server.url, "t").job(a_job()["id"]).outputs()
    assert (found.complete, found.left_out, found.problems) == (False, ("big",), ("n1: away",))
