"""What a provider publishes: fetched with bounds, kept a while, and never trusted for another issuer."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from muster.domain.errors import Unavailable
from muster.identity.discovery import KEPT_S, Discovery
from muster.identity.fetching import Fetching

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
CONFIGURATION = "/.well-known/openid-configuration"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Published(ThreadingHTTPServer):
    """A web server with documents. It counts how often each is fetched."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.documents: dict[str, Any] = {}
        self.fetched: list[str] = []
        self.issuer = f"http://127.0.0.1:{self.server_address[1]}"
        self.documents[CONFIGURATION] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/auth",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
        }
        self.documents["/keys"] = {"keys": [{"kid": "first"}]}


class _Handler(BaseHTTPRequestHandler):
    server: Published

    def do_GET(self) -> None:
        self.server.fetched.append(self.path)
        found = self.server.documents.get(self.path)
        self.send_response(404 if found is None else 302 if isinstance(found, str) else 200)
        if isinstance(found, str):
            self.send_header("Location", found)
        self.end_headers()
        self.wfile.write(found if isinstance(found, bytes) else json.dumps(found).encode())

    def log_message(self, *_: object) -> None:
        pass


class SetClock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def published() -> Iterator[Published]:
    server = Published()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


async def test_addresses_and_keys_are_kept_a_while(published: Published) -> None:
    clock = SetClock()
    discovery = Discovery(published.issuer, Fetching(), clock)
    for _ in range(3):
        assert (await discovery.endpoints()).token == f"{published.issuer}/token"
        assert await discovery.keys() == [{"kid": "first"}]
    assert published.fetched == [CONFIGURATION, "/keys"]
    clock.now += KEPT_S + 1
    await discovery.keys()
    assert published.fetched[2:] in (["/keys"], [CONFIGURATION, "/keys"])


async def test_a_missing_key_is_looked_for_at_once_but_not_again_and_again(published: Published) -> None:
    discovery = Discovery(published.issuer, Fetching(), SetClock())
    await discovery.keys()
    published.documents["/keys"] = {"keys": [{"kid": "second"}]}
    for _ in range(5):
        assert await discovery.newer_keys() == [{"kid": "second"}]
    assert published.fetched.count("/keys") == 2


async def test_old_documents_are_used_while_the_provider_is_away(published: Published) -> None:
    clock = SetClock()
    discovery = Discovery(published.issuer, Fetching(), clock)
    await discovery.keys()
    clock.now += KEPT_S + 1
    published.documents.clear()
    assert await discovery.keys() == [{"kid": "first"}]


@pytest.mark.parametrize(
    "change",
    [
        {"issuer": "https://evil.example.org"},
        {"issuer": None},
        {"token_endpoint": "file:///etc/passwd"},
        {"token_endpoint": None},
        {"jwks_uri": 7},
    ],
    ids=str,
)
async def test_a_document_that_cannot_be_right_is_refused(published: Published, change: dict[str, Any]) -> None:
    published.documents[CONFIGURATION] |= change
    with pytest.raises(Unavailable, match="cannot be used"):
        await Discovery(published.issuer, Fetching()).endpoints()


async def test_addresses_without_encryption_are_refused_of_an_encrypted_provider() -> None:
    discovery = Discovery("https://id.example.org", Fetching())
    with pytest.raises(Unavailable, match="token_endpoint"):
        discovery._url({"token_endpoint": "http://id.example.org/token"}, "token_endpoint")


async def test_redirects_are_not_followed(published: Published) -> None:
    published.documents[CONFIGURATION] = f"{published.issuer}/elsewhere"
    published.documents["/elsewhere"] = {}
    with pytest.raises(Unavailable, match="answers 302"):
        await Discovery(published.issuer, Fetching()).endpoints()
    assert published.fetched == [CONFIGURATION]


async def test_an_answer_is_read_up_to_a_bound(published: Published) -> None:
    published.documents["/long"] = b"x" * 5000
    with pytest.raises(Unavailable, match="more than 1000 bytes"):
        await Fetching(max_bytes=1000).get(f"{published.issuer}/long")


async def test_a_provider_that_is_away_or_silent_is_reported_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(Unavailable, match="does not answer: connection refused"):
            await Fetching().get(address)
        silent.listen()
        with pytest.raises(Unavailable, match="does not answer: timed out"):
            await Fetching(within_s=0.2).get(address)
