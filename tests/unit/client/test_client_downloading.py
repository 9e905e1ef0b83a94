"""Fetching outputs: resumed, checked, never outside the folder."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from muster import Client
from muster.client.downloading import PARTIAL
from muster.client.errors import MusterError
from tests.unit.client.tiny_server import Answer, Asked, TinyServer, a_job

pytestmark = pytest.mark.fast
DATA = b"weights" * 1000


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


def test_what_an_earlier_try_left_is_used(server: TinyServer, address: str, tmp_path: Path) -> None:
    server.on("GET", f"{address}/model/w", served)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / f".{told()['sha256'][:16]}{PARTIAL}").write_bytes(DATA[:50])
    (file,) = download(server, tmp_path)
    assert file.read_bytes() == DATA
    assert server.requests("GET", f"{address}/model/w")[0].headers["Range"] == "bytes=50-"


def test_wrong_content_gets_no_name(server: TinyServer, address: str, tmp_path: Path) -> None:
    server.on("GET", f"{address}/model/w", Answer(200, pieces=[b"x" * len(DATA)]))
    with pytest.raises(MusterError, match="digest"):
        download(server, tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "muster-home" not in str(path)]


@pytest.mark.parametrize("path", ["../up", "/etc/x", "a/../../b", "a//b", "a\\b"])
def test_a_name_that_leads_out_is_refused(server: TinyServer, address: str, tmp_path: Path, path: str) -> None:
    server.on("GET", address, listing(told(path)))
    with pytest.raises(MusterError, match="does not stay"):
        download(server, tmp_path / "got")


def test_a_listing_tells_what_is_left_out_and_missing(server: TinyServer, address: str) -> None:
    answer = {"items": [], "attempt": 2, "complete": False, "leftOut": ["big"], "problems": ["n1: away"]}
    server.on("GET", address, Answer(200, answer))
    found = Client(server.url, "t").job(a_job()["id"]).outputs()
    assert (found.complete, found.left_out, found.problems) == (False, ("big",), ("n1: away",))
