"""An image with Muster from this checkout, made without a registry, for the nodes of a test cluster.

The image of the recipe, `deploy/Containerfile`, takes minutes to build; `make test-shipping` does that."""

import importlib.metadata
import io
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

from muster.version import __version__
from scripts.kube.images import pack_image
from tests.parts.python_image import pack_python_image

NAME = f"muster:{__version__}"
_SOURCE = Path(__file__).parents[2] / "src"
_LIBRARIES = "opt/muster"
_PROGRAM = """#!/usr/bin/python3
from muster.cli.main import main
main()
"""
_CONFIG: dict[str, object] = {
    "Entrypoint": ["muster", "server"],
    "User": "10001:10001",
    "Env": ["PATH=/usr/bin:/bin", f"PYTHONPATH=/{_LIBRARIES}"],
}


def pack_operator_image(archive: Path) -> None:
    layer = archive.with_suffix(".layer")
    pack_python_image(layer)
    with tarfile.open(layer, "a") as files:
        files.add(_SOURCE / "muster", f"{_LIBRARIES}/muster", filter=_without_caches)
        for name in _dependencies("muster-ml"):
            for file in importlib.metadata.files(name) or ():
                path = Path(str(file.locate()))
                if ".." not in file.parts and path.is_file() and path.suffix != ".pyc":
                    files.add(path, f"{_LIBRARIES}/{file}", filter=_readable)
        program = tarfile.TarInfo("usr/bin/muster")
        program.mode, program.size = 0o755, len(_PROGRAM)
        files.addfile(program, io.BytesIO(_PROGRAM.encode()))
    pack_image(archive, layer, {f"docker.io/library/{NAME}": _CONFIG})
    layer.unlink()


def _dependencies(wanted: str) -> Iterator[str]:
    """What Muster needs, and what that needs, without extras."""
    waiting, seen = [wanted], {wanted}
    while waiting:
        for requirement in importlib.metadata.requires(waiting.pop()) or ():
            name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower().replace("_", "-")
            if name in seen or "extra ==" in requirement:
                continue
            seen.add(name)
            try:
                importlib.metadata.distribution(name)
            except importlib.metadata.PackageNotFoundError:
                continue  # for another system or version of Python
            waiting.append(name)
            yield name


def _without_caches(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in entry.name else _readable(entry)


def _readable(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mode |= 0o044 | (0o011 if entry.isdir() else 0)
    return entry
