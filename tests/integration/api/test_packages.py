"""Uploading code: in pieces, over connections that break, by people who must not see each other's."""

import hashlib
import io
import os
import socket
import tarfile
from pathlib import Path

import httpx
import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, new_user, unique
from tests.parts.server import running_server


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def put(me: Caller, digest: str, offset: int, size: int, data: bytes) -> httpx.Response:
    return me.send("PUT", f"/packages/{digest}", params={"offset": offset, "size": size}, content=data)


def archive(name: str, text: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        info = tarfile.TarInfo(name)
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


@pytest.fixture
def me(people: People) -> Caller:
    return people.owner


def test_pieces_become_a_package_that_reads_back_the_same(me: Caller) -> None:
    data = os.urandom(3 << 20)
    digest, size = digest_of(data), len(data)
    problem(me.get(f"/packages/{digest}"), 404, "not-found")
    middle = 1 << 20
    assert ok(put(me, digest, 0, size, data[:middle])) == {
        "digest": digest,
        "size": size,
        "received": middle,
        "complete": False,
    }
    assert ok(me.get(f"/packages/{digest}"))["received"] == middle
    problem(me.get(f"/packages/{digest}/content"), 404, "not-found")
    assert ok(put(me, digest, middle, size, data[middle:]))["complete"]
    assert me.get(f"/packages/{digest}/content").content == data
    assert ok(put(me, digest, 0, size, data[:middle]))["complete"]


def test_a_connection_that_breaks_in_a_piece_leaves_what_was_there_before(me: Caller) -> None:
    data = os.urandom(1 << 20)
    digest, size = digest_of(data), len(data)
    ok(put(me, digest, 0, size, data[:1000]))
    request = (
        f"PUT /api/v1/packages/{digest}?offset=1000&size={size} HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {me.token}\r\nContent-Length: {size - 1000}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", me.server.port)) as connection:
        connection.sendall(request.encode() + data[1000:5000])
    received = ok(me.get(f"/packages/{digest}"))["received"]
    assert received == 1000
    assert ok(put(me, digest, received, size, data[received:]))["complete"]


@pytest.mark.parametrize("offset", [0, 3, 11])
def test_a_wrong_offset_is_told_the_right_one(me: Caller, offset: int) -> None:
    data = unique("offset").encode() * 10
    digest = digest_of(data)
    ok(put(me, digest, 0, len(data), data[:10]))
    assert problem(put(me, digest, offset, len(data), b"x"), 409, "wrong-offset")["received"] == 10


def test_the_first_piece_at_a_wrong_offset_is_told_zero(me: Caller) -> None:
    assert problem(put(me, digest_of(unique("x").encode()), 5, 10, b"x"), 409, "wrong-offset")["received"] == 0


def test_bytes_that_are_not_what_they_were_called_are_refused_and_forgotten(me: Caller) -> None:
    digest = digest_of(unique("right").encode())
    problem(put(me, digest, 0, 5, b"wrong"), 422, "invalid")
    problem(me.get(f"/packages/{digest}"), 404, "not-found")
    problem(me.get(f"/packages/{digest}/content"), 404, "not-found")


def test_more_bytes_than_announced_are_refused(me: Caller) -> None:
    told = problem(put(me, digest_of(unique("x").encode()), 0, 3, b"four"), 422, "invalid")
    assert "3" in told["detail"]


def test_a_package_over_the_servers_limit_is_too_large(me: Caller) -> None:
    problem(put(me, digest_of(unique("x").encode()), 0, 1 << 40, b"x"), 413, "too-large")


@pytest.mark.parametrize("digest", ["x", "../../../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "0", "..%2f" * 5])
def test_a_name_that_is_no_digest_reaches_no_file(me: Caller, digest: str) -> None:
    for answer in (me.get(f"/packages/{digest}"), me.get(f"/packages/{digest}/content"), put(me, digest, 0, 1, b"x")):
        assert answer.status_code in (404, 405, 422)


def test_the_same_bytes_of_two_people_are_a_package_of_each(me: Caller, people: People) -> None:
    data = archive("main.py", f"print({unique('code')!r})")
    digest = digest_of(data)
    ok(put(me, digest, 0, len(data), data))
    problem(people.other.get(f"/packages/{digest}"), 404, "not-found")
    ok(put(people.other, digest, 0, len(data), data))
    for one in (me, people.other):
        assert one.get(f"/packages/{digest}/content").content == data


def test_half_an_upload_of_one_person_is_not_anothers(me: Caller, people: People) -> None:
    data = unique("half").encode() * 10
    digest = digest_of(data)
    ok(put(me, digest, 0, len(data), data[:10]))
    problem(people.other.get(f"/packages/{digest}"), 404, "not-found")
    assert problem(put(people.other, digest, 10, len(data), b"x"), 409, "wrong-offset")["received"] == 0


def test_a_package_is_the_working_folder_of_its_job(me: Caller) -> None:
    words = unique("words")
    data = archive("main.sh", f"echo {words}")
    digest = digest_of(data)
    ok(put(me, digest, 0, len(data), data))
    job = ok(me.post("/jobs", {"spec": {"name": unique("packed"), "command": "sh main.sh"}, "package": digest}), 201)
    assert me.server.wait(job["id"])["state"] == "Succeeded"
    assert me.get(f"/jobs/{job['id']}/logs/raw?task=worker-0").text == f"{words}\n"


def test_a_machines_user_with_path_characters_in_the_name_is_harmless(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running_server(home, {"LOGNAME": "../../up and/away"}) as server:
        me = Caller(server, server.token)
        assert ok(me.get("/whoami"))["user"] == "../../up and/away"
        data = unique("piece").encode()
        ok(put(me, digest_of(data), 0, len(data), data[:3]))
        assert ok(put(me, digest_of(data), 3, len(data), data[3:]))["complete"]
    assert {path.name for path in tmp_path.iterdir()} == {"home"}
    assert not list(home.rglob("*away*"))


def test_people_whose_names_look_alike_do_not_share_uploads(people: People) -> None:
    one, two = new_user(people.admin, "a.b", password=None), new_user(people.admin, "a@b", password=None)
    data = unique("alike").encode() * 5
    ok(put(one, digest_of(data), 0, len(data), data[:5]))
    problem(two.get(f"/packages/{digest_of(data)}"), 404, "not-found")
