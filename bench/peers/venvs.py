"""Virtualenvs of the peers, under `.cache/bench` in the checkout, made on first use by package name."""

import subprocess
import sys
from pathlib import Path

from bench.peers.peer import PeerAbsent

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "bench"


def python_with(name: str, *requirements: str) -> Path:
    """The interpreter of the virtualenv `name`, in which the requirements are installed."""
    folder = CACHE / name
    python = folder / "bin" / "python"
    done = folder / "installed.txt"
    wanted = "\n".join(requirements)
    if done.exists() and done.read_text() == wanted:
        return python
    print(f"installing {' '.join(requirements)} into {folder.relative_to(ROOT)} ...", flush=True)
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)])
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements])
    done.write_text(wanted)
    return python


def installed_version(python: Path, distribution: str) -> str:
    code = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
    done = subprocess.run([str(python), "-c", code, distribution], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _run(arguments: list[str]) -> None:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise PeerAbsent(f"could not be installed: {last}")
