"""Pages of jobs through the server, spoken to as browsers and attackers do: hosts, links, cookies, headers, streams."""

import http.client
import json
import secrets
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx2
import pytest
from httpx2.websockets import WebSocketUpgradeError

from tests.parts.server import MusterServer, polls, running_server

_APP = """
import base64, hashlib, http.server, json, os, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.path == "/refused":
            self.send_response(403)
            self.send_header("Set-Cookie", "muster_session=stolen; Path=/")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if self.headers.get("Upgrade") == "websocket":
            return self.echo_socket()
        if self.path == "/large":
            self.send_response(200)
            self.send_header("Content-Length", str(30_000_000))
            self.end_headers()
            for _ in range(300):
                self.wfile.write(b"x" * 100_000)
            return
        if self.path == "/events":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"d\\r\\ndata: first\\n\\n\\r\\n")
            self.wfile.flush()
            while not os.path.exists(sys.argv[1]):
                time.sleep(0.05)
            self.wfile.write(b"e\\r\\ndata: second\\n\\n\\r\\n0\\r\\n\\r\\n")
            return
        if self.path.startswith("/raw"):
            hostile = {
                "/raw-both": b"200 OK\\r\\nContent-Length: 3\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
                    b"5\\r\\nhello\\r\\n0\\r\\n\\r\\n",
                "/raw-999": b"999 Odd\\r\\nContent-Length: 2\\r\\n\\r\\nhi",
                "/raw-304": b"304 Not Modified\\r\\nContent-Length: 7\\r\\n\\r\\n",
                "/raw-text": b"\\0\\0\\0",
            }
            self.wfile.write(b"HTTP/1.1 " + hostile[self.path])
            self.close_connection = True
            return
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/there")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.answer(b"")
    def do_POST(self):
        size = self.headers.get("Content-Length")
        self.answer(self.chunks() if size is None else self.rfile.read(int(size)))
    def chunks(self):
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data
    def answer(self, body):
        seen = {"path": self.path, "headers": self.headers.items(), "size": len(body)}
        data = json.dumps(seen).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Set-Cookie", "app=1; Domain=example.org; Path=/")
        self.send_header("Set-Cookie", "muster_session=stolen; Path=/")
        self.send_header("Clear-Site-Data", '"cookies"')
        self.end_headers()
        self.wfile.write(data)
    def echo_socket(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.send_header("Sec-WebSocket-Protocol", self.headers["Sec-WebSocket-Protocol"])
        self.end_headers()
        head = self.rfile.read(2)
        mask, size = self.rfile.read(4), head[1] & 127
        data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(size)))
        self.wfile.write(bytes([0x81, len(data)]) + data)
        self.wfile.flush()
        self.rfile.read(1)
        self.close_connection = True
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("listens", server.server_address[1], flush=True)
server.serve_forever()
"""


@dataclass(frozen=True)
class App:
    server: MusterServer
    job: str
    id: str
    port: int

    @property
    def host(self) -> str:
        return f"p{self.port}-{self.id}.localhost:{self.server.port}"

    def link(self, token: str | None = None, path: str = "/") -> tuple[int, Any]:
        body = {"port": self.port, "path": path}
        return self.server.call("POST", f"/api/v1/jobs/{self.id}/page", body, token=token)

    def ask(self, path: str, headers: Mapping[str, str] | None = None, **more: Any) -> http.client.HTTPResponse:
        return ask(self.server, path, {"Host": self.host, **(headers or {})}, **more)

    def entered(self, token: str | None = None) -> dict[str, str]:
        """The header with the cookie of somebody who has opened a link."""
        status, link = self.link(token)
        assert status == 201, link
        answer = self.enter(link["url"])
        assert answer.status == 204, answer.read()
        return {"Cookie": str(answer.headers["set-cookie"]).partition(";")[0]}

    def enter(self, url: str, host: str | None = None) -> http.client.HTTPResponse:
        body = json.dumps({"ticket": unquote(urlsplit(url).fragment.partition("&")[0])})
        return self.ask("/.muster/enter", {"Host": host or self.host}, method="POST", body=body.encode())


def ask(
    server: MusterServer, path: str, headers: Mapping[str, str], method: str = "GET", body: Any = None
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.request(method, path, body, dict(headers))
    return connection.getresponse()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("proxy") / "home") as made:
        yield made


@pytest.fixture(scope="module")
def app(server: MusterServer) -> App:
    return serving(server)


def serving(server: MusterServer, **more: Any) -> App:
    program = server.home / "app.py"
    program.write_text(_APP)
    name = f"app-{secrets.token_hex(4)}"
    job = server.submit({"name": name, "command": f"python3 {program} {server.home}/gate-{name}", **more})
    server.wait_for_state(name, "Running")
    for _ in polls(60):
        said = server.run("logs", name).stdout
        if "listens " in said:
            return App(server, name, str(job["id"]), int(said.split("listens ")[1].split()[0]))
    raise AssertionError("the job does not listen")


def seen(answer: http.client.HTTPResponse) -> tuple[Any, dict[str, str]]:
    """What the app saw."""
    assert answer.status == 200, answer.read()
    told = json.loads(answer.read())
    return told, {name.lower(): value for name, value in told["headers"]}


def test_a_link_opens_once_and_only_its_own_host(app: App) -> None:
    other = serving(app.server)
    assert app.ask("/").status == 401
    _, link = app.link(path="/lab?x=1")
    assert link["url"].startswith(f"http://{app.host}/.muster/enter#")
    assert link["url"].endswith("&%2Flab%3Fx%3D1")
    assert app.enter(link["url"], host=other.host).status == 403
    _, link = app.link()
    answer = app.enter(link["url"])
    cookie = str(answer.headers["set-cookie"])
    assert (answer.status, "HttpOnly" in cookie, "Domain" in cookie) == (204, True, False)
    assert app.enter(link["url"]).status == 403, "a second time"
    mine = {"Cookie": cookie.partition(";")[0]}
    assert app.ask("/", mine).status == 200
    assert other.ask("/", mine).status == 401, "the cookie of one job opens no other"
    forged = mine["Cookie"][:-1] + ("1" if mine["Cookie"].endswith("0") else "0")
    assert app.ask("/", {"Cookie": forged}).status == 401
    events = app.server.call("GET", f"/api/v1/jobs/{app.id}/events")[1]["items"]
    assert [event["data"]["port"] for event in events if event["kind"] == "audit.job.proxy"] == [app.port]
    app.server.run("kill", other.job, check=True)


def test_the_job_gets_nothing_of_the_login_and_sets_nothing_of_muster(app: App) -> None:
    mine = app.entered()
    cookies = f"{mine['Cookie']}; muster_session={app.server.token}; app=2"
    bearer = {"Authorization": f"Bearer {app.server.token}", "X-Forwarded-For": "6.6.6.6", "X-Muster-Client": "x"}
    answer = app.ask("/page?q=%2F", {"Cookie": cookies, **bearer, "Connection": "X-Secret", "X-Secret": "1"})
    set_cookies = answer.headers.get_all("set-cookie")
    assert set_cookies == ["app=1; Path=/"]
    assert answer.headers["clear-site-data"] is None
    assert answer.headers["content-security-policy"] == "frame-ancestors 'self'"
    told, headers = seen(answer)
    assert (told["path"], headers["cookie"], headers["host"]) == ("/page?q=%2F", "app=2", app.host)
    assert not {"authorization", "x-forwarded-for", "x-muster-client", "x-secret"} & set(headers)
    assert app.server.token not in json.dumps(told)


def test_other_pages_and_other_people_are_kept_out(app: App) -> None:
    mine = app.entered()
    for site in ("cross-site", "same-site"):
        fetched = {**mine, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
        assert app.ask("/", fetched).status == 403
        framed = {**mine, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
        assert app.ask("/", framed).status == 403
    assert app.ask("/", {**mine, "Origin": "http://evil.example"}, method="POST", body=b"").status == 403
    assert app.ask("/", {**mine, "Origin": f"http://{app.host}"}, method="POST", body=b"").status == 200
    visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert app.ask("/", {**mine, **visit}).status == 200
    name = f"other-{secrets.token_hex(3)}"
    assert app.server.call("POST", "/api/v1/users", {"name": name})[0] == 201
    token = app.server.call("POST", "/api/v1/tokens", {"name": "t", "user": name})[1]["secret"]
    assert app.link(token)[0] == 403
    reading = app.server.call("POST", "/api/v1/tokens", {"name": "r", "scope": "read"})[1]["secret"]
    assert app.link(reading)[0] == 403


def test_hosts_of_jobs_are_never_muster_itself(app: App) -> None:
    """A page of a job, or a name that leads here by a trick, must not speak to the API at its own origin."""
    bearer = {"Authorization": f"Bearer {app.server.token}"}
    for host in (app.host, "x.localhost", f"evil.{app.host}", "p0-0000000000000000.localhost"):
        assert ask(app.server, "/api/v1/whoami", {"Host": host, **bearer}).status in (401, 404), host
    assert app.server.call("GET", "/api/v1/whoami")[0] == 200
    session = {"Cookie": f"muster_session={app.server.token}"}
    own = f"127.0.0.1:{app.server.port}"
    assert ask(app.server, "/api/v1/whoami", {"Host": own, **session}).status == 200
    for attack in ({"Origin": f"http://{app.host}"}, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}):
        assert ask(app.server, "/api/v1/whoami", {"Host": own, **session, **attack}).status == 401, attack
    two = {"Cookie": f"muster_session=mst_attackers; muster_session={app.server.token}"}
    assert ask(app.server, "/api/v1/whoami", {"Host": own, **two}).status == 401


def test_bodies_of_any_kind_pass_in_both_directions(app: App) -> None:
    mine = app.entered()
    assert len(app.ask("/large", mine).read()) == 30_000_000
    pieces = [b"y" * 1_000_000] * 12
    assert seen(app.ask("/", mine, method="POST", body=iter(pieces)))[0]["size"] == 12_000_000
    assert seen(app.ask("/", mine, method="POST", body=b"z" * 12_000_000))[0]["size"] == 12_000_000
    moved = app.ask("/moved", mine)
    assert (moved.status, moved.headers["location"]) == (302, "/there")
    events = app.ask("/events", mine)
    assert events.readline() == b"data: first\n", "it comes before the end"
    (app.server.home / f"gate-{app.job}").touch()
    assert events.read() == b"\ndata: second\n\n"


def test_hostile_answers_are_told_apart_and_leave_no_traceback(app: App) -> None:
    mine = app.entered()
    both = app.ask("/raw-both", mine)
    assert (both.status, both.headers["content-length"], both.read()) == (200, None, b"hello")
    assert app.ask("/raw-304", mine).status == 304
    for path in ("/raw-999", "/raw-text"):
        answer = app.ask(path, mine)
        assert (answer.status, json.loads(answer.read())["code"]) == (502, "bad-answer"), path
    with (
        httpx2.Client(timeout=60) as client,
        pytest.raises(WebSocketUpgradeError) as refused,
        client.websocket(f"http://127.0.0.1:{app.server.port}/refused", headers={**mine, "Host": app.host}),
    ):
        pass
    assert refused.value.response.status_code == 403
    assert refused.value.response.headers.get_list("set-cookie") == []
    assert "Exception in ASGI application" not in (app.server.home / "stderr.log").read_text()


def test_a_link_leads_to_no_other_host(app: App) -> None:
    for path in ("//evil.example", "/\\evil.example", "/a\\b", "evil"):
        assert app.link(path=path)[0] == 400, path
    assert app.link(path="/lab?next=//x")[0] == 201


def test_trailers_of_a_request_are_no_headers(app: App) -> None:
    head = f"POST /api/v1/logout HTTP/1.1\r\nHost: 127.0.0.1:{app.server.port}\r\nTransfer-Encoding: chunked\r\n"
    trailer = f"Authorization: Bearer {app.server.token}\r\n"
    with socket.create_connection(("127.0.0.1", app.server.port), timeout=60) as connection:
        connection.sendall(f"{head}Connection: close\r\n\r\n0\r\n{trailer}\r\n".encode())
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 401")


def test_websockets_pass_with_their_protocol_and_for_the_own_page_only(app: App) -> None:
    mine = app.entered()
    address = f"http://127.0.0.1:{app.server.port}/socket"
    with httpx2.Client(timeout=60) as client:
        headers = {**mine, "Host": app.host, "Origin": f"http://{app.host}"}
        with client.websocket(address, headers=headers, subprotocols=["v1.kernel"]) as opened:
            assert opened.subprotocol == "v1.kernel"
            opened.send_text("hello")
            assert opened.receive_text() == "hello"
        for wrong in ({"Origin": "http://evil.example"}, {"Cookie": "a=b"}):
            with (
                pytest.raises(WebSocketUpgradeError) as refused,
                client.websocket(address, headers={**headers, **wrong}, subprotocols=["v1.kernel"]),
            ):
                pass
            assert refused.value.response.status_code in (401, 403)


def test_smuggled_requests_are_refused(app: App) -> None:
    cookie = app.entered()["Cookie"]
    head = f"POST / HTTP/1.1\r\nHost: {app.host}\r\nCookie: {cookie}\r\n"
    for trick in ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n"):
        with socket.create_connection(("127.0.0.1", app.server.port), timeout=60) as connection:
            connection.sendall(f"{head}{trick}\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n".encode())
            said = connection.recv(1 << 16)
        assert b"smuggled" not in said
        assert said.startswith(b"HTTP/1.1 400"), said


def test_a_session_outlives_the_server_and_ends_with_its_token(app: App) -> None:
    token = app.server.call("POST", "/api/v1/tokens", {"name": "brief"})[1]
    mine = app.entered(token["secret"])
    app.server.kill()
    app.server.start()
    for _ in polls(60):
        if app.ask("/", mine).status == 200:
            break
    else:
        raise AssertionError("the page is not seen any more")
    assert app.server.call("DELETE", f"/api/v1/tokens/{token['id']}")[0] == 204
    assert app.ask("/", mine).status == 401


def test_a_login_link_logs_in_once(app: App) -> None:
    printed = app.server.run("open", app.job, check=True).stdout.strip()
    assert printed.startswith(f"{app.server.url}/#login=")
    assert printed.endswith(f"&/jobs/{app.id}")
    ticket = printed.split("#login=")[1].split("&")[0]
    login = {"ticket": ticket, "name": "browser"}
    status, session = app.server.call("POST", "/api/v1/login", login, token="")
    assert (status, session["user"]) == (200, app.server.call("GET", "/api/v1/whoami")[1]["user"])
    assert app.server.call("POST", "/api/v1/login", login, token="")[0] == 401
    assert app.server.run("open", app.job, "--port", str(app.port), check=True).stdout.startswith(f"http://{app.host}/")
    assert "within five minutes" in app.server.run("open", app.job, check=True).stderr
    reading = app.server.call("POST", "/api/v1/tokens", {"name": "r2", "scope": "read"})[1]["secret"]
    assert app.server.call("POST", "/api/v1/login/link", {}, token=reading)[0] == 403


def test_a_login_link_of_somebody_else_does_not_replace_a_session(app: App) -> None:
    """Else people would work, and keep their secrets, under the login of whoever sent them the link."""
    own = {"Host": f"127.0.0.1:{app.server.port}", "X-Muster-Request": "1", "Content-Type": "application/json"}
    name = f"sender-{secrets.token_hex(3)}"
    assert app.server.call("POST", "/api/v1/users", {"name": name})[0] == 201
    sender = app.server.call("POST", "/api/v1/tokens", {"name": "t", "user": name})[1]["secret"]

    def log_in(token: str, cookie: str) -> http.client.HTTPResponse:
        url = app.server.call("POST", "/api/v1/login/link", {}, token=token)[1]["url"]
        body = json.dumps({"ticket": url.split("#login=")[1], "name": "browser"}).encode()
        return ask(app.server, "/api/v1/login", {**own, "Cookie": cookie}, method="POST", body=body)

    mine = str(log_in(app.server.token, "").headers["set-cookie"]).partition(";")[0]
    refused = log_in(sender, mine)
    assert (refused.status, refused.headers["set-cookie"]) == (409, None)
    assert name in (said := refused.read().decode())
    assert "log out first" in said
    assert log_in(app.server.token, mine).status == 200, "the same person may log in again"
    assert log_in(sender, "muster_session=mst_ended").status == 200
