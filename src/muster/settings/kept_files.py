"""The cluster files that were in force last, kept for a start while one of them is broken.

One private file in the server's home, replaced as a whole: what is in it was right together. Keys and passwords are
never in it, only the files that name them.
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
    """Whose files they are. Those of another folder do not count."""

    def read(self) -> dict[str, str]:
        """Texts by name; none before the first start. Raises ValueError or OSError if it cannot be read."""
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        match data:
            case {"folder": str(folder), "files": {**files}}:
                return {str(name): str(text) for name, text in files.items()} if folder == str(self.folder) else {}
        raise ValueError("it is not as Muster wrote it")

    def write(self, files: Mapping[str, str]) -> None:
        """Raises OSError."""
        write_private(self.path, json.dumps({"folder": str(self.folder), "files": dict(files)}, indent=1) + "\n")
