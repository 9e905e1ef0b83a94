"""Packs the agent into one runnable file, to be carried to nodes where nothing of Muster is installed.

The same sources give the same bytes, whenever and wherever it is built, so the name, which holds their hash, tells
whether a node has this very agent already.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import List, Tuple

_MAIN = b"from muster.agent.__main__ import main\n\nmain()\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def build_archive(target: Path) -> str:
    """Write the archive into the folder `target` unless it is there; its file name."""
    content = archive_bytes()
    name = "muster-agent-{}.pyz".format(hashlib.sha256(content).hexdigest()[:16])
    path = target / name
    if not path.exists():
        target.mkdir(parents=True, exist_ok=True)
        partial = target / (name + ".partial")
        partial.write_bytes(content)
        partial.rename(path)
    return name


def archive_bytes() -> bytes:
    buffer = io.BytesIO()
    # Stored, not deflated: another zlib would give other bytes, and it is small as it is.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in _members():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def _members() -> List[Tuple[str, bytes]]:
    package = Path(__file__).resolve().parent
    muster = package.parent
    sources = [muster / "__init__.py", muster / "version.py", *sorted(package.rglob("*.py"))]
    named = [(path.relative_to(muster.parent).as_posix(), path.read_bytes()) for path in sources]
    return [("__main__.py", _MAIN), *named]
