"""Logins with the identity provider of a server, for programs: by way of a browser, or without one.

The browser goes through the server, which alone knows the provider. The program gets a code that only it can use.
"""

import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from muster.client.client import Client
from muster.client.errors import MusterError
from muster.client.transport import API, Request, as_json, segment
from muster.lib.pkce import challenge_of, new_verifier, short_code

if TYPE_CHECKING:
    from muster.api.accounts import DeviceLoginOut, LoginOut, LoginWaysOut

_WAIT_S = 600.0
_DONE = b"<!doctype html><title>Muster</title><p>You are logged in on the command line. You can close this page.</p>"
_WRONG = b"<!doctype html><title>Muster</title><p>This page does not belong to the login that is waiting.</p>"


class LoginTimedOut(MusterError):
    def __init__(self) -> None:
        super().__init__("nobody has logged in", code="timed-out", hint="begin again: muster login --sso")


class BrowserLogin:
    """A login that a person completes in a browser. `port` is where this machine waits for the browser; without one,
    the browser shows a code for the person to paste."""

    def __init__(self, client: Client, port: int | None = None) -> None:
        self._client = client
        self._verifier = new_verifier()
        self.state = secrets.token_urlsafe(16)
        challenge = challenge_of(self._verifier)
        query = {"challenge": challenge, **({"port": port, "state": self.state} if port is not None else {})}
        self.address = f"{client.transport.server}{API}/login/sso?{urlencode(query)}"
        self.shown_code = short_code(challenge)
        """What the browser shows too, so that the person knows that it is the same login."""

    def complete(self, code: str, name: str) -> "LoginOut":
        data, headers = as_json({"code": code, "verifier": self._verifier, "name": name})
        session = _session(self._client, Request("POST", f"{API}/login", body=data, headers=headers, repeatable=False))
        assert session is not None
        return session


class Listener:
    """Waits on a free port of this machine for the browser to bring the code."""

    def __init__(self) -> None:
        self._server = _Waiting(("127.0.0.1", 0), _Visit)
        self.port = int(self._server.server_address[1])

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.server_close()

    def code(self, state: str, wait_s: float = _WAIT_S) -> str:
        """Visits without the right state are answered and ignored: other programs of this machine can make them."""
        self._server.expected = state
        deadline = time.monotonic() + wait_s
        while self._server.code is None:
            if time.monotonic() > deadline:
                raise LoginTimedOut
            self._server.handle_request()
        return self._server.code


class _Waiting(HTTPServer):
    timeout = 1.0
    expected = ""
    code: str | None = None


class _Visit(BaseHTTPRequestHandler):
    timeout = 5.0
    server: _Waiting

    def do_GET(self) -> None:
        query: Mapping[str, list[str]] = parse_qs(urlsplit(self.path).query)
        state, code = query.get("state", [""])[0], query.get("code", [""])[0]
        is_right = bool(code) and hmac.compare_digest(state.encode(), self.server.expected.encode())
        if is_right:
            self.server.code = code
        self.send_response(200 if is_right else 400)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", "default-src 'none'")
        self.end_headers()
        self.wfile.write(_DONE if is_right else _WRONG)

    def log_message(self, *_: object) -> None:
        """The address contains the code."""


class DeviceLogin:
    """A login that a person confirms on another machine. Raises MusterError (`not-found`) if the provider does not
    offer it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._begun: DeviceLoginOut = client.transport.json(Request("POST", f"{API}/login/device", repeatable=False))
        self.code = self._begun["code"]
        self.address = self._begun["completeAddress"] or self._begun["address"]

    def complete(self, name: str, sleep: Callable[[float], None] = time.sleep) -> "LoginOut":
        data, headers = as_json({"name": name})
        path = f"{API}/login/device/{segment(self._begun['id'])}"
        deadline = time.monotonic() + self._begun["expiresIn"]
        while time.monotonic() < deadline:
            sleep(self._begun["interval"])
            request = Request("POST", path, body=data, headers=headers, repeatable=False)
            if (session := _session(self._client, request)) is not None:
                return session
        raise LoginTimedOut


def login_ways(client: Client) -> "LoginWaysOut":
    """How people can log in. A server that does not say takes passwords."""
    try:
        ways: LoginWaysOut = client.transport.json(Request("GET", f"{API}/login"))
    except MusterError as error:
        if error.status in (404, 405):
            return {"password": True, "sso": None}
        raise
    return ways


def _session(client: Client, request: Request) -> "LoginOut | None":
    """The session, which the client uses from then on, or None if there is none yet."""
    client.transport.token = None
    answer: LoginOut | None = client.transport.json(request)
    if answer is not None:
        client.transport.token = answer["token"]
    return answer
