from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.client.tiny_server import Answer, TinyServer

TOKEN = "token-of-li"


@pytest.fixture
def server() -> Iterator[TinyServer]:
    """A server that knows the user li and their password."""
    tiny = TinyServer()
    tiny.on("POST", "/login", Answer(200, {"token": TOKEN, "user": "li", "role": "user", "expiresAt": None}))
    tiny.on("GET", "/whoami", Answer(200, {"user": "li", "role": "user"}))
    clusters = [{"name": "lab", "default": True}, {"name": "dc"}]
    tiny.on("GET", "/clusters", Answer(200, {"items": clusters}))
    yield tiny
    tiny.stop()


@pytest.fixture
def user_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without a context of Muster."""
    for name in ("MUSTER_SERVER", "MUSTER_TOKEN", "MUSTER_HOME", "MUSTER_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


@pytest.fixture
def configured(user_home: Path, server: TinyServer) -> TinyServer:
    """The server, as the datacenter of `~/.paddle/config`."""
    (user_home / ".paddle").mkdir()
    (user_home / ".paddle" / "config").write_text(
        "datacenters:\n"
        "- name: datacenter1\n"
        "  active: true\n"
        "  username: li\n"
        "  password: open sesame\n"
        f"  endpoint: {server.url}/\n"
    )
    return server
