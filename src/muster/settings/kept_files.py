"""Keeps the last valid cluster files for a start while one of them has a mistake.

They are in one private file in the server's home, which is replaced as a whole, because they were valid together. It
never contains keys or passwords, only the cluster files that refer to them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from muster.settings.private_files import write_private


@dataclass(frozen=True, slots=True)
class KeptFiles:
    path: Path
    folder: Path
    """The folder that the files belong to. Files that were kept for another folder are ignored."""

    def read(self) -> dict[str, str]:
        """Return the texts by name; there are none before the first start. Raises ValueError or OSError."""
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        match data:
            case {"folder": str(folder), "files": {**files}}:
                return {str(name): str(text) for name, text in files.items()} if folder == str(self.folder) else {}
        raise ValueError("it does not have the expected format")

    def write(self, files: Mapping[str, str]) -> None:
        """Raises OSError."""
        write_private(self.path, json.dumps({"folder": str(self.folder), "files": dict(files)}, indent=1) + "\n")
