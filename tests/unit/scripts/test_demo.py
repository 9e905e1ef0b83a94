"""What `make demo` prints, with a stand-in for the `muster` command."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.fast

DEMO = Path(__file__).parents[3] / "scripts" / "demo.py"
STAND_IN = """
import os, signal, sys
if sys.argv[1] != "up":
    print("muster", *sys.argv[1:])
    sys.exit(1 if sys.argv[1] == os.environ.get("FAILING") else 0)
if os.environ.get("MUSTER_LOG_LEVEL") != "error":
    print('{"event": "serving", "level": "info"}', file=sys.stderr, flush=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("Muster is at http://127.0.0.1:7070", flush=True)
signal.pause()
"""


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "muster.py").write_text(STAND_IN)
    monkeypatch.setattr(module, "MUSTER", [sys.executable, str(tmp_path / "muster.py")])
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path))
    monkeypatch.delenv("MUSTER_LOG_LEVEL", raising=False)
    return module


def test_without_a_terminal_it_says_that_the_server_is_stopped(demo: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    out, err = capfd.readouterr()
    last = out.splitlines()[-1]
    assert last.startswith("The server has been stopped. `MUSTER_HOME=")
    assert last.endswith(" make up` starts it again.")
    assert "The page:" not in out
    assert "muster submit" in out
    assert err == ""


def test_a_failed_job_is_the_exit_code_of_the_demo(
    demo: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAILING", "submit")
    assert demo.main() == 1
    assert "The server has been stopped." in capfd.readouterr().out
