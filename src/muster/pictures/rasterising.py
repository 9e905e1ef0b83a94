"""Converts an SVG to PNG with a program that this machine has."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

_WITHIN_S = 60.0
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


class NoPng(Exception):
    """The message says why no PNG could be made."""


def png_of(svg: str, width: int, height: int, browsers: Sequence[str] = _BROWSERS) -> bytes:
    """`browsers` are used if there is no rsvg-convert; they take a second and much memory. Raises NoPng."""
    with tempfile.TemporaryDirectory(prefix="muster-picture-") as folder:
        source, target = Path(folder, "picture.svg"), Path(folder, "picture.png")
        source.write_text(svg, encoding="utf-8")
        command = _command(source, target, f"{width},{height}", browsers)
        if command is None:
            missing = "neither rsvg-convert nor chromium is" if browsers else "rsvg-convert is not"
            raise NoPng(f"{missing} installed here")
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_WITHIN_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise NoPng(f"{command[0]} took longer than {_WITHIN_S:.0f} s") from error
        if not target.is_file():
            lines = done.stderr.strip().splitlines()
            raise NoPng(f"{command[0]} failed: {lines[-1] if lines else f'exit code {done.returncode}'}")
        return target.read_bytes()


def _command(source: Path, target: Path, size: str, browsers: Sequence[str]) -> list[str] | None:
    if converter := shutil.which("rsvg-convert"):
        return [converter, "--output", str(target), str(source)]
    browser = next(filter(None, map(shutil.which, browsers)), None)
    if browser is None:
        return None
    rootly = ["--no-sandbox"] if os.geteuid() == 0 else []  # its sandbox does not work for root
    return [
        *(
            browser,
            "--headless",
            *rootly,
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={source.parent}/profile",
        ),
        *(f"--window-size={size}", f"--screenshot={target}", source.as_uri()),
    ]
