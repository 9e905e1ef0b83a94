from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.client.tiny_server import TinyServer


@pytest.fixture
def server() -> Iterator[TinyServer]:
    tiny = TinyServer()
    yield tiny
    tiny.stop()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Prevents tests from reading or writing a real context."""
    for name in ("MUSTER_SERVER", "MUSTER_TOKEN", "NO_COLOR", "MUSTER_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path / "muster-home"))
    return tmp_path / "muster-home"
