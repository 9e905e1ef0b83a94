"""Files on the nodes over the API: pieces, ranges, digests, and nobody where they may not be."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import new_user, unique
from tests.parts.passable import open_to_all
from tests.parts.server import polls, running_server

FILES = "/clusters/local/files"


@dataclass(frozen=True)
class Shelf:
    """A server whose machine shows three folders."""

    admin: Caller
    me: Caller
    base: Path

    def put(self, path: str, data: bytes, *, who: Caller | None = None, **more: Any) -> httpx.Response:
        return self.piece(path, data, 0, data, who=who, **more)

    def piece(
        self, path: str, whole: bytes, offset: int, data: bytes, *, who: Caller | None = None, **more: Any
    ) -> httpx.Response:
        query = {"path": path, "size": len(whole), "sha256": sha256(whole), "offset": offset, **more}
        return (who or self.me).send("PUT", f"{FILES}/content", params=query, content=data)

    def get(self, call: str, path: str, **more: Any) -> httpx.Response:
        return self.me.get(f"{FILES}{call}", params={"path": path, **more})


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    base = tmp_path_factory.mktemp("shelf")
    for name in ("data", "fixed", "team", "outside"):
        (base / name).mkdir()
        open_to_all(base / name)
    home = base / "home"
    (home / "clusters.d").mkdir(parents=True)
    folders = {
        "data": str(base / "data"),
        "fixed": {"path": str(base / "fixed"), "readOnly": True},
        "team": {"path": str(base / "team"), "groups": ["team"], "shared": False},
    }
    document = {"name": "local", "backend": "local", "folders": folders}
    (home / "clusters.d" / "local.yaml").write_text(json.dumps(document))
    with running_server(home) as server:
        admin = Caller(server, server.token)
        yield Shelf(admin, new_user(admin, "me", password=None), base)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_people_see_the_folders_that_they_may_use(shelf: Shelf) -> None:
    mine = ok(shelf.me.get(f"{FILES}/folders"))["items"]
    assert [folder["name"] for folder in mine] == ["data", "fixed"]
    assert [folder["readOnly"] for folder in mine] == [False, True]
    assert len(ok(shelf.admin.get(f"{FILES}/folders"))["items"]) == 3


def test_a_folder_of_others_is_not_there_until_one_is_let_in(shelf: Shelf) -> None:
    somebody = new_user(shelf.admin, "somebody", password=None)
    told = problem(somebody.get(FILES, params={"path": "team"}), 404, "not-found")
    assert told["detail"] == "cluster local has no folder 'team'"
    ok(shelf.admin.send("PATCH", f"/users/{somebody.name}", json={"groups": ["team"]}))
    assert ok(somebody.get(FILES, params={"path": "team"}))["items"] == []


def test_a_read_only_folder_is_read_by_all_and_changed_by_nobody(shelf: Shelf) -> None:
    name = unique("fixed")
    fixed, data = f"fixed/{name}", f"data/{name}"
    (shelf.base / fixed).write_bytes(b"x")
    (shelf.base / data).write_bytes(b"y")
    for who in (shelf.me, shelf.admin):
        told = problem(shelf.put(f"{fixed}-new", b"x", who=who), 403, "forbidden")
        assert "clusters.d/local.yaml" in told["hint"]
        problem(who.send("DELETE", FILES, params={"path": fixed}), 403, "forbidden")
        problem(who.post(f"{FILES}/mkdir", {"path": f"{fixed}-new"}), 403, "forbidden")
        problem(who.post(f"{FILES}/move", {"path": fixed, "to": f"{data}-moved"}), 403, "forbidden")
        problem(who.post(f"{FILES}/move", {"path": data, "to": f"{fixed}-new"}), 403, "forbidden")
        problem(who.post(f"{FILES}/copy", {"path": data, "to": f"{fixed}-new"}), 403, "forbidden")
    assert shelf.get("/content", fixed).content == b"x"
    ok(shelf.me.post(f"{FILES}/copy", {"path": fixed, "to": f"{data}-copy"}))
    assert (shelf.base / f"{data}-copy").read_bytes() == b"x"
    assert [path.name for path in (shelf.base / "fixed").glob(f"{name}*")] == [name]


def test_pieces_become_a_file_and_a_break_goes_on_where_it_was(shelf: Shelf) -> None:
    data = os.urandom(3 << 20)
    path = f"data/{unique('pieces')}"
    middle = 1 << 20
    problem(shelf.get("/upload", path, sha256=sha256(data)), 404, "not-found")
    assert not ok(shelf.piece(path, data, 0, data[:middle]))["complete"]
    problem(shelf.get("/stat", path), 404, "not-found")
    begun = ok(shelf.get("/upload", path, sha256=sha256(data), check=True))
    assert (begun["received"], begun["sha256"]) == (middle, sha256(data[:middle]))
    assert problem(shelf.piece(path, data, 5, b"x"), 409, "wrong-offset")["received"] == middle
    assert ok(shelf.piece(path, data, middle, data[middle:]))["complete"]
    assert (shelf.base / path).read_bytes() == data


def test_the_same_file_put_again_is_complete_and_another_is_refused(shelf: Shelf) -> None:
    path = f"data/{unique('again')}"
    ok(shelf.put(path, b"first"))
    assert ok(shelf.put(path, b"first"))["complete"]
    problem(shelf.put(path, b"other"), 409, "exists")
    ok(shelf.put(path, b"other", overwrite=True))
    assert (shelf.base / path).read_bytes() == b"other"


def test_an_empty_file_can_be_put(shelf: Shelf) -> None:
    path = f"data/{unique('empty')}"
    assert ok(shelf.put(path, b""))["complete"]
    assert shelf.get("/content", path).content == b""


def test_bytes_that_are_not_what_was_announced_are_refused(shelf: Shelf) -> None:
    path = f"data/{unique('wrong')}"
    query = {"path": path, "size": 5, "sha256": sha256(b"right")}
    problem(shelf.me.send("PUT", f"{FILES}/content", params=query, content=b"wrong"), 422, "invalid")
    problem(shelf.get("/upload", path, sha256=sha256(b"right")), 404, "not-found")
    problem(shelf.piece(path, b"123", 2, b"45"), 422, "invalid")


def test_half_an_upload_of_one_person_is_not_anothers(shelf: Shelf) -> None:
    path = f"data/{unique('half')}"
    ok(shelf.piece(path, b"12345", 0, b"12"))
    query = {"path": path, "sha256": sha256(b"12345")}
    problem(shelf.admin.get(f"{FILES}/upload", params=query), 404, "not-found")


def test_content_has_ranges_a_version_and_a_checksum(shelf: Shelf) -> None:
    data = os.urandom(3 << 20)
    path = f"data/{unique('ranges')}"
    (shelf.base / path).write_bytes(data)
    whole = shelf.get("/content", path)
    assert whole.content == data
    assert whole.headers["x-checksum"] == f"sha256:{sha256(data)}"
    part = shelf.me.get(f"{FILES}/content", params={"path": path}, headers={"Range": "bytes=100-2000000"})
    assert (part.status_code, part.content) == (206, data[100:2000001])
    assert part.headers["etag"] == whole.headers["etag"] == f'"{ok(shelf.get("/stat", path))["version"]}"'
    (shelf.base / path).write_bytes(b"new")
    assert shelf.get("/content", path).headers["etag"] != whole.headers["etag"]


def test_the_digest_of_a_file_and_of_its_beginning(shelf: Shelf) -> None:
    path = f"data/{unique('digest')}"
    (shelf.base / path).write_bytes(b"abcdef")
    assert ok(shelf.get("/digest", path))["sha256"] == sha256(b"abcdef")
    assert ok(shelf.get("/digest", path, length=3))["sha256"] == sha256(b"abc")


def test_a_folder_is_listed_in_pages(shelf: Shelf) -> None:
    folder = unique("pages")
    (shelf.base / "data" / folder).mkdir()
    names = [f"{number:03}" for number in range(25)]
    for name in names:
        (shelf.base / "data" / folder / name).touch()
    listed, cursor = [], None
    while True:
        page = ok(shelf.get("", f"data/{folder}", limit=10, cursor=cursor))
        listed += [item["name"] for item in page["items"]]
        cursor = page["nextCursor"]
        if not cursor:
            break
    assert listed == names


def test_folders_are_made_moved_copied_counted_and_removed(shelf: Shelf) -> None:
    top = f"data/{unique('tree')}"
    problem(shelf.me.post(f"{FILES}/mkdir", {"path": f"{top}/a"}), 404, "not-found")
    assert ok(shelf.me.post(f"{FILES}/mkdir", {"path": f"{top}/a", "parents": True}), 201)["kind"] == "folder"
    ok(shelf.put(f"{top}/a/file", b"12345"))
    assert ok(shelf.me.post(f"{FILES}/copy", {"path": f"{top}/a", "to": f"{top}/b", "recursive": True}))["files"] == 1
    problem(shelf.me.post(f"{FILES}/move", {"path": f"{top}/a", "to": f"{top}/b"}), 409, "exists")
    assert ok(shelf.me.post(f"{FILES}/move", {"path": f"{top}/a", "to": f"{top}/c"}))["done"]
    assert ok(shelf.get("/usage", top))["bytes"] == 10
    problem(shelf.me.send("DELETE", FILES, params={"path": top}), 409, "wrong-kind")
    done = ok(shelf.me.send("DELETE", FILES, params={"path": top, "recursive": True}))
    assert (done["done"], done["files"]) == (True, 2)
    assert not (shelf.base / top).exists()


@pytest.mark.parametrize("path", ["data/../outside", "data/door", "data/door/x", "../outside"])
def test_no_path_leads_out_of_its_folder(shelf: Shelf, path: str) -> None:
    door = shelf.base / "data" / "door"
    if not door.is_symlink():
        door.symlink_to(shelf.base / "outside")
    (shelf.base / "outside" / "x").write_text("secret")
    for answer in (
        shelf.get("", path),
        shelf.get("/stat", path),
        shelf.get("/content", path),
        shelf.get("/usage", path),
        shelf.put(f"{path}/new", b"x"),
        shelf.me.post(f"{FILES}/mkdir", {"path": f"{path}/new", "parents": True}),
        shelf.me.post(f"{FILES}/copy", {"path": path, "to": "data/stolen", "recursive": True}),
    ):
        assert answer.status_code in (403, 404), answer.text
    assert [file.name for file in (shelf.base / "outside").iterdir()] == ["x"]


def test_refusals_name_the_path_as_it_was_asked_for_and_nothing_of_the_node(shelf: Shelf) -> None:
    told = problem(shelf.get("/stat", "data/no/such"), 404, "not-found")
    assert told["detail"] == "local:data/no/such: there is no such file or folder"
    assert str(shelf.base) not in json.dumps(told)


@pytest.mark.parametrize(
    ("path", "node", "status", "code"),
    [
        ("nothing/x", None, 404, "not-found"),
        ("data", "no-such-node", 404, "not-found"),
        ("/", None, 422, "invalid"),
        ("data/\0", None, 422, "invalid"),
    ],
)
def test_what_cannot_be_meant_is_refused(shelf: Shelf, path: str, node: str | None, status: int, code: str) -> None:
    problem(shelf.get("/stat", path, **({"node": node} if node else {})), status, code)


def test_a_run_of_somebody_else_is_not_gone_on_with(shelf: Shelf) -> None:
    problem(shelf.get("/usage", "data", run="not-one"), 422, "invalid")
    run = ok(shelf.admin.get(f"{FILES}/usage", params={"path": "data"}))["run"]
    assert ok(shelf.get("/usage", "data", run=run))["done"]


def test_a_change_that_the_node_refused_is_told_in_the_audit(shelf: Shelf) -> None:
    path = f"data/{unique('absent')}"
    problem(shelf.me.send("DELETE", FILES, params={"path": path}), 404, "not-found")
    for _ in polls(10):
        events = ok(shelf.admin.get("/events", params={"kind": "audit.fs.remove", "limit": 1000}))["items"]
        found = [event for event in events if event["data"]["path"] == f"local:{path}"]
        if found:
            assert (found[0]["actor"], found[0]["data"]["error"]) == (shelf.me.name, "not-found")
            return
    raise AssertionError("no audit event")
