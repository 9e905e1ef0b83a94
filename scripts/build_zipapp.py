"""Builds the client as one file, which needs nothing but Python: `python3 muster.pyz get jobs`.

It has the modules that the command line reaches, and the pure Python of the libraries that these import. What only a
server needs is left out, and the commands for it say so. The same sources and libraries always make the same bytes.
"""

import argparse
import ast
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src"
LIBRARIES = ("click", "PyYAML", "rich", "pathspec", "wsproto", "h11")
"""What modules of the command line and the client import. Rich draws progress without the libraries that it needs for
Markdown and for source code."""
COMMAND_LINE = SOURCES / "muster" / "cli"
LEFT_OUT = {
    *(COMMAND_LINE / "commands" / f"{name}.py" for name in ("serving", "operator", "sim", "cluster", "receivers")),
    COMMAND_LINE / "tables" / "receiver_columns.py",
}
"""Commands that need the parts of a server, and what only they use."""
LICENCES = ("LICENSE", "LICENCE", "COPYING", "NOTICE")
FIRST_TIME = (1980, 1, 1, 0, 0, 0)
MAIN = """\
import sys

if sys.version_info < (3, 11):
    sys.exit("error: this client needs Python 3.11 or newer, and this is Python %d.%d" % sys.version_info[:2])

from muster.cli.main import main

main()
"""


def build(target: Path) -> None:
    """The archive is complete before it has its name."""
    entries = {"__main__.py": MAIN.encode(), **_own_files(), **_library_files()}
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f"{target.name}.new")
    with beside.open("wb") as out:
        out.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(
            out, "w", zipfile.ZIP_STORED
        ) as archive:  # compressed bytes differ between versions of zlib
            for name in sorted(entries):
                entry = zipfile.ZipInfo(name, FIRST_TIME)
                entry.create_system, entry.external_attr = 3, 0o100644 << 16
                archive.writestr(entry, entries[name])
    beside.chmod(0o755)
    beside.replace(target)


def _own_files() -> dict[str, bytes]:
    modules = _reached(sorted(set(COMMAND_LINE.rglob("*.py")) - LEFT_OUT))
    packages = {folder / "__init__.py" for path in modules for folder in path.relative_to(SOURCES).parents}
    files = {path.relative_to(SOURCES) for path in modules} | {path for path in packages if (SOURCES / path).is_file()}
    files |= {path.relative_to(SOURCES) for path in _templates()}
    return {path.as_posix(): (SOURCES / path).read_bytes() for path in files}


def _templates() -> Iterator[Path]:
    for path in (SOURCES / "muster" / "templates" / "built_in").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def _reached(first: list[Path]) -> set[Path]:
    """The modules, and those of Muster that they import, wherever in the module that is written."""
    found, waiting = set(first), list(first)
    while waiting:
        for path in _imported(waiting.pop()):
            if path not in found:
                found.add(path)
                waiting.append(path)
    return found


def _imported(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.split(".")[0] == "muster":
                yield from _module_files(name)


def _module_files(name: str) -> Iterator[Path]:
    place = SOURCES.joinpath(*name.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            yield path


def _library_files() -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name in LIBRARIES:
        for file in distribution(name).files or ():
            is_licence = any(file.name.upper().startswith(word) for word in LICENCES)
            if ".." not in file.parts and (file.suffix == ".py" or is_licence) and "__pycache__" not in file.parts:
                found[file.as_posix()] = file.read_binary()
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", type=Path, default=Path("dist/muster.pyz"))
    chosen = parser.parse_args()
    build(chosen.target)
    sys.stdout.write(f"{chosen.target}: {chosen.target.stat().st_size >> 10} KiB\n")
