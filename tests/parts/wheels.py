"""The wheels of `requirements.lock`, and of what builds Muster itself, for installations without a network."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_LOCK = _ROOT / "requirements.lock"


class WheelsMissing(Exception):
    """They cannot be downloaded; the message says why."""


def locked_wheels(python: str) -> Path:
    """A folder with the wheels for this version of Python ("3.11"). It is filled once and kept in `.cache`."""
    digest = hashlib.sha256(_LOCK.read_bytes()).hexdigest()[:12]
    folder = _ROOT / ".cache" / f"wheels-{python}-{digest}"
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / "wheels.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            partial = folder.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            _download(partial, python, "--require-hashes", "-r", str(_LOCK))
            _download(partial, python, "hatchling")
            partial.rename(folder)
    return folder


def _download(folder: Path, python: str, *wanted: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--python-version", python]
    done = subprocess.run(
        [*command, "--dest", str(folder), *wanted], capture_output=True, text=True, timeout=600, check=False
    )
    assert "hash" not in done.stderr, f"requirements.lock cannot be installed: make lock\n{done.stderr[-2000:]}"
    if done.returncode:
        raise WheelsMissing(f"the wheels cannot be downloaded: {done.stderr.strip()[-300:]}")
