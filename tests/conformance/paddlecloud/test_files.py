"""Files as `paddlecloud file` and the commands ls, cp, rm and mkdir handle them."""

import hashlib
import os
from urllib.parse import parse_qs

import pytest

from tests.conformance.paddlecloud.conftest import Cloud
from tests.conformance.paddlecloud.go_client import Answer, GoClient, go_chunk
from tests.integration.api.calling import ok

CHUNK = 2 << 20


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def upload(me: GoClient, path: str, data: bytes) -> int:
    """Sends a file as `paddlecloud cp` does, and returns how many pieces it had to send."""
    assert me.touch(path, len(data)) == {"err": "", "results": {"path": path}}
    sent = 0
    for offset in range(0, max(len(data), 1), CHUNK):
        piece = data[offset : offset + CHUNK]
        there = me.chunk_meta(path, offset, CHUNK)
        assert there["err"] == ""
        if there["results"]["checksum"] != md5(piece):
            assert me.post_chunk(path, offset, piece)["err"] == ""
            sent += 1
    return sent


def test_a_file_is_put_listed_got_and_overwritten(me: GoClient, cloud: Cloud) -> None:
    path = me.home("jobs", "mnist", "train.py")
    assert me.put_file(b"print(1)\n", path) == {"msg": ""}
    assert me.get("/api/v1/filelist/", path=me.home("jobs", "mnist"), dc="local").json() == {
        "msg": "",
        "items": ["train.py"],
    }
    got = me.get_file(path)
    assert (got.status, got.content) == (200, b"print(1)\n")
    assert me.put_file(b"print(2)\n", path) == {"msg": ""}
    assert me.get_file(path).content == b"print(2)\n"
    assert [file.name for file in (cloud.home / me.user / "jobs" / "mnist").iterdir()] == ["train.py"]


def test_a_large_file_is_put_and_got_byte_for_byte(me: GoClient) -> None:
    data = os.urandom((20 << 20) + 7)
    assert me.put_file(data, me.home("large.bin")) == {"msg": ""}
    assert me.get_file(me.home("large.bin")).content == data


@pytest.mark.parametrize("data", [b"", b"\r\n", b"\r\n--", b"a\r\n--8d7b0e5709d756e21e971ff4d9ac3b2"])
def test_bytes_that_look_like_the_form_itself_arrive_as_they_are(me: GoClient, data: bytes) -> None:
    assert me.put_file(data, me.home("odd.bin")) == {"msg": ""}
    assert me.get_file(me.home("odd.bin")).content == data


def test_an_upload_that_breaks_off_changes_nothing(me: GoClient, cloud: Cloud) -> None:
    me.put_file(b"old", me.home("kept.txt"))
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nnew but not all'
    answer = me.send("POST", "/api/v1/file/", {"path": me.home("kept.txt")}, body, "multipart/form-data; boundary=b")
    assert "ends before" in answer.json()["msg"]
    assert [(file.name, file.read_bytes()) for file in (cloud.home / me.user).iterdir()] == [("kept.txt", b"old")]


def test_a_file_that_is_not_there_is_refused_with_a_status_because_clients_save_the_body(me: GoClient) -> None:
    assert me.get_file(me.home("absent")).status == 404
    assert me.get_file("/etc/passwd").status == 422
    assert me.get("/api/v1/filelist/", path=me.home("absent"), dc="local").json()["msg"] == "dir not exist"


def test_ls_shows_what_the_client_prints_also_by_pattern_and_recursively(me: GoClient) -> None:
    for name in ("a.txt", "b.log", "sub/c.txt"):
        me.put_file(name.encode(), me.home(name))
    found = me.ls(me.home())
    assert found["err"] == ""
    assert {entry["Path"]: (entry["IsDir"], entry["Size"]) for entry in found["results"] if not entry["IsDir"]} == {
        me.home("a.txt"): (False, 5),
        me.home("b.log"): (False, 5),
    }
    assert [entry["Path"] for entry in found["results"] if entry["IsDir"]] == [me.home("sub")]
    assert all(isinstance(entry["ModTime"], int) and entry["ModTime"] > 10**18 for entry in found["results"])
    assert [entry["Path"] for entry in me.ls(me.home("*.txt"))["results"]] == [me.home("a.txt")]
    assert [entry["Path"] for entry in me.ls(me.home("a.txt"))["results"]] == [me.home("a.txt")]
    deep = {entry["Path"] for entry in me.ls(me.home(), recursive=True)["results"]}
    assert deep == {me.home(name) for name in ("a.txt", "b.log", "sub", "sub/c.txt")}
    assert me.ls(me.home("nothing"))["err"].startswith("no such file or directory")


def test_a_home_to_which_nothing_was_written_is_empty(me: GoClient) -> None:
    assert me.ls(me.home()) == {"err": "", "results": []}
    assert me.get("/api/v1/filelist/", path=me.home(), dc="local").json() == {"msg": "", "items": []}


def test_a_home_is_for_its_owner_alone(me: GoClient, cloud: Cloud) -> None:
    me.put_file(b"x", me.home("a/b"))
    assert (cloud.home / me.user).stat().st_mode & 0o777 == 0o700


def test_stat_tells_a_file_from_a_folder_and_that_nothing_is_there(me: GoClient) -> None:
    me.put_file(b"12345", me.home("sub/file"))
    assert me.pfs("stat", path=me.home("sub/file"))["results"]["Size"] == 5
    assert me.pfs("stat", path=me.home("sub"))["results"]["IsDir"] is True
    assert "no such file or directory" in me.pfs("stat", path=me.home("other"))["err"]


def test_mkdir_makes_parents_and_is_content_with_what_is_there(me: GoClient, cloud: Cloud) -> None:
    for _ in range(2):
        made = me.post("/api/v1/pfs/files", {"method": "mkdir", "path": [me.home("a/b/c")]}).json()
        assert made == {"err": "", "results": [{"path": me.home("a/b/c")}]}
    assert (cloud.home / me.user / "a/b/c").is_dir()
    me.put_file(b"x", me.home("file"))
    refused = me.post("/api/v1/pfs/files", {"method": "mkdir", "path": [me.home("file")]}).json()
    assert "already exist" in refused["err"]


def test_rm_removes_files_by_pattern_and_folders_only_if_asked(me: GoClient) -> None:
    for name in ("a.txt", "b.txt", "keep.log", "sub/c.txt"):
        me.put_file(b"x", me.home(name))

    def rm(path: str, recursive: bool) -> dict[str, object]:
        answer: dict[str, object] = me.delete(
            "/api/v1/pfs/files", {"method": "rm", "r": recursive, "path": [path]}
        ).json()
        return answer

    assert rm(me.home("*.txt"), False) == {"err": "", "results": [{"path": me.home(n)} for n in ("a.txt", "b.txt")]}
    assert rm(me.home("sub"), False)["err"] == f"can't del directory:{me.home('sub')}"
    assert rm(me.home("sub"), True)["err"] == ""
    assert rm(me.home("absent"), False) == {"err": "", "results": []}
    assert rm(me.home(), True)["err"].startswith("what you request is unauthorized")  # type: ignore[attr-defined]
    assert [entry["Path"] for entry in me.ls(me.home())["results"]] == [me.home("keep.log")]


def test_a_file_goes_up_in_pieces_and_only_what_differs_goes_again(me: GoClient, cloud: Cloud) -> None:
    data = bytearray(os.urandom(3 * CHUNK + 100))
    path = me.home("model.bin")
    assert upload(me, path, bytes(data)) == 4
    assert (cloud.home / me.user / "model.bin").read_bytes() == data
    assert upload(me, path, bytes(data)) == 0
    data[CHUNK + 5] ^= 1
    assert upload(me, path, bytes(data)) == 1
    assert (cloud.home / me.user / "model.bin").read_bytes() == data
    writes = [
        event
        for event in ok(cloud.own(me).get("/events", params={"kind": "audit.fs.", "limit": 1000}))["items"]
        if event["data"].get("path") == f"local:home/{me.user}/model.bin"
    ]
    assert {event["kind"] for event in writes} == {"audit.fs.resize", "audit.fs.write"}
    assert len([event for event in writes if event["kind"] == "audit.fs.write"]) == 1


def test_a_file_comes_down_in_pieces(me: GoClient) -> None:
    data = os.urandom(CHUNK + 100)
    me.put_file(data, me.home("model.bin"))
    (entry,) = me.ls(me.home("model.bin"), recursive=True)["results"]
    received = b""
    while len(received) < entry["Size"]:
        meta = me.chunk_meta(entry["Path"], len(received), CHUNK)["results"]
        named, piece = go_chunk(me.get_chunk(entry["Path"], len(received), meta["len"]))
        told = parse_qs(named)
        assert (told["path"], told["offset"]) == ([entry["Path"]], [str(len(received))])
        assert (told["chunksize"], md5(piece)) == ([str(len(piece))], meta["checksum"])
        received += piece
    assert received == data
    assert me.chunk_meta(entry["Path"], len(data), CHUNK)["results"] == {
        "offset": len(data),
        "checksum": md5(b""),
        "len": 0,
    }


@pytest.mark.parametrize(("size", "fits"), [(4095, False), (4096, True), (32 << 20, True), ((32 << 20) + 1, False)])
def test_pieces_have_from_4_kib_to_32_mib(me: GoClient, size: int, fits: bool) -> None:
    me.put_file(b"x", me.home("file"))
    assert me.chunk_meta(me.home("file"), 0, size)["err"] == ("" if fits else "chunksize error")


def test_a_piece_is_as_long_as_it_says(me: GoClient) -> None:
    me.touch(me.home("file"), 10)
    body = (
        b'--b\r\nContent-Disposition: form-data; name="chunk"; filename="chunksize=4&offset=0&path=%s"\r\n\r\n%s'
        b"\r\n--b--\r\n"
    )
    for data in (b"123", b"12345"):
        answer = me.send(
            "POST",
            "/api/v1/pfs/storage/chunks",
            None,
            body % (me.home("file").encode(), data),
            "multipart/form-data; boundary=b",
        )
        assert answer.json()["err"] == "chunksize error"
    assert me.get_file(me.home("file")).content == b"\0" * 10


def test_a_piece_of_32_mib_goes_up_and_one_that_is_larger_is_not_read(me: GoClient) -> None:
    data = os.urandom(32 << 20)
    me.touch(me.home("file"), len(data))
    assert me.post_chunk(me.home("file"), 0, data)["err"] == ""
    assert me.chunk_meta(me.home("file"), 0, 32 << 20)["results"]["checksum"] == md5(data)


def test_a_touched_file_is_sparse_and_at_most_one_tebibyte(me: GoClient, cloud: Cloud) -> None:
    assert me.touch(me.home("sparse"), 1 << 30)["err"] == ""
    assert (cloud.home / me.user / "sparse").stat().st_blocks * 512 < 1 << 20
    for size in (-1, (1 << 40) + 1):
        assert me.touch(me.home("huge"), size)["err"].startswith("bad file size")
    me.post("/api/v1/pfs/files", {"method": "mkdir", "path": [me.home("sub")]})
    assert me.touch(me.home("sub"), 1)["err"].startswith("directory already exist")
    too_far = me.chunk_meta(me.home("sparse"), (1 << 40) + 1, 4096)
    assert too_far["err"] == "chunksize error"


def test_an_unknown_method_is_not_allowed_and_a_long_body_is_not_read(me: GoClient) -> None:
    assert me.send("GET", "/api/v1/pfs/files", {"method": "md5sum"}).status == 405
    assert me.post("/api/v1/pfs/files", {"method": "mv", "path": "x"}).status == 405
    assert me.send("GET", "/api/v1/pfs/chunks", {"method": "Get"}).status == 405
    body = {"method": "touch", "path": me.home("x" * 2048), "filesize": 1}
    assert me.post("/api/v1/pfs/files", body).json()["err"] == "parse json error"
    assert me.send("GET", "/api/v1/pfs/files", {"method": "ls"}).json()["err"] == "not enough arguments"


def test_public_data_is_read_and_never_changed(me: GoClient, cloud: Cloud) -> None:
    (cloud.public / "set.txt").write_bytes(b"public")
    path = "/pfs/local/public/set.txt"
    assert me.get_file(path).content == b"public"
    assert [entry["Path"] for entry in me.ls("/pfs/local/public/*.txt")["results"]] == [path]
    assert go_chunk(me.get_chunk(path, 0, 6))[1] == b"public"
    assert "public" in me.touch("/pfs/local/public/new", 1)["err"]
    assert "public" in me.put_file(b"x", "/pfs/local/public/new")["msg"]
    assert "public" in me.delete("/api/v1/pfs/files", {"method": "rm", "r": True, "path": [path]}).json()["err"]
    assert "public" in me.post_chunk(path, 0, b"x")["err"]
    assert (cloud.public / "set.txt").read_bytes() == b"public"


def outside(me: GoClient, other: GoClient) -> list[str]:
    return [
        other.home("secret"),
        me.home("..", other.user, "secret"),
        me.home("link", "secret"),
        "/pfs/local/public/../home/" + f"{other.user}/secret",
        f"/pfs/local/home/{me.user}/../../../etc/passwd",
        "/pfs/local/home",
        "/pfs/local/elsewhere/x/y",
        "/pfs/nowhere/home/" + me.user,
        "/etc/passwd",
        "",
    ]


def test_nobody_reaches_what_is_not_theirs_by_any_call(me: GoClient, cloud: Cloud) -> None:
    other = cloud.person()
    other.put_file(b"secret", other.home("secret"))
    me.put_file(b"x", me.home("mine"))
    link = cloud.home / me.user / "link"
    link.symlink_to(cloud.home.parent / "server")
    for path in outside(me, other):
        answers: list[Answer] = [
            me.get_file(path),
            me.get("/api/v1/filelist/", path=path, dc="local"),
            me.send("GET", "/api/v1/pfs/files", {"method": "stat", "path": path}),
            me.send("GET", "/api/v1/pfs/files", {"method": "ls", "r": "true", "arg": path}),
            me.send(
                "GET", "/api/v1/pfs/chunks", {"method": "GetChunkMeta", "path": path, "offset": 0, "chunksize": 4096}
            ),
            me.get_chunk(path, 0, 6),
            me.post("/api/v1/publish/", {"path": path}),
            me.post("/api/v1/pfs/files", {"method": "touch", "path": path, "filesize": 3}),
            me.post("/api/v1/pfs/files", {"method": "mkdir", "path": [path]}),
            me.delete("/api/v1/pfs/files", {"method": "rm", "r": True, "path": [path]}),
        ]
        for answer in answers:
            said = answer.json() if answer.status == 200 else {"msg": "refused"}
            is_empty = said.get("results") == [] and "link" in path
            assert said.get("msg") or said.get("err") or is_empty, (path, answer)
        assert me.put_file(b"bad", path)["msg"]
        assert me.post_chunk(path, 0, b"bad")["err"]
    assert other.get_file(other.home("secret")).content == b"secret"


def test_an_admin_has_no_way_into_the_home_of_others_here(cloud: Cloud) -> None:
    other = cloud.person()
    other.put_file(b"secret", other.home("secret"))
    admin = GoClient(cloud.server, "admin", "", token=cloud.server.token)
    assert admin.get_file(other.home("secret")).status == 403


def test_a_published_file_is_had_by_everybody_who_knows_the_address_and_by_nobody_else(
    me: GoClient, cloud: Cloud
) -> None:
    me.put_file(b"weights", me.home("model.bin"))
    url = me.post("/api/v1/publish/", {"path": me.home("model.bin")}).json()["url"]
    assert me.get("/api/v1/publish/").json() == {"files": [me.home("model.bin")], "urls": [url]}
    stranger = GoClient(cloud.server, "", "")
    path, _, uuid = url.removeprefix(cloud.server.url).partition("?uuid=")
    assert path == "/filepub/"
    got = stranger.get(path, uuid=uuid)
    assert (got.status, got.content) == (200, b"weights")
    assert got.headers["content-disposition"].startswith("attachment")
    for wrong in ("", "x", uuid[:-1] + ("0" if uuid[-1] != "0" else "1"), uuid.replace(".", ""), "e30.00"):
        assert stranger.get(path, uuid=wrong).status in (403, 404)
    assert cloud.person().get("/api/v1/publish/").json() == {"files": [], "urls": []}


def test_a_publication_ends_with_its_user(me: GoClient, cloud: Cloud) -> None:
    me.put_file(b"weights", me.home("model.bin"))
    url = me.post("/api/v1/publish/", {"path": me.home("model.bin")}).json()["url"]
    path, _, uuid = url.removeprefix(cloud.server.url).partition("?uuid=")
    admin = GoClient(cloud.server, "admin", "", token=cloud.server.token)
    disabled = admin.send("PATCH", f"/api/v1/users/{me.user}", None, b'{"disabled": true}')
    assert disabled.status == 401  # Muster's own routes take no such header
    status, _ = cloud.server.call("PATCH", f"/api/v1/users/{me.user}", {"disabled": True})
    assert status == 200
    assert GoClient(cloud.server, "", "").get(path, uuid=uuid).status == 404
