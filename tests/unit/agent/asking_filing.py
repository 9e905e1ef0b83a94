"""Asks the file operations of an agent directly, as its loop would."""

import hashlib
from pathlib import Path
from typing import Any

from muster.agent.errors import AgentError
from muster.agent.files.leftovers import Leftovers
from muster.agent.files.operations import Filing

RUN = "run00000"


class Files:
    """One root, and what is asked of it."""

    def __init__(self, root: Path, leftovers: Leftovers | None = None) -> None:
        self.root = root
        self._operations = Filing(leftovers).operations()
        self._runs = 0

    def ask(self, op: str, path: str, **more: Any) -> dict[str, Any]:
        given = {"op": op, "root": str(self.root), "path": path, "run": RUN, **more}
        return self._operations[op](given)()

    def whole(self, op: str, path: str, **more: Any) -> dict[str, Any]:
        """Asked until it is done."""
        self._runs += 1
        while True:
            answer = self.ask(op, path, run=f"run{self._runs:05d}", **more)
            if answer["done"]:
                return answer

    def code(self, op: str, path: str, **more: Any) -> str:
        """How it is refused."""
        try:
            self.ask(op, path, **more)
        except AgentError as error:
            return error.code
        return "done"

    def names(self, path: str = "") -> list[str]:
        return [entry["name"] for entry in self.ask("fs_list", path, limit=1000)["entries"]]

    def content(self, path: str) -> bytes:
        return bytes(self.ask("fs_read", path, offset=0, limit=1 << 20)["data"])

    def put(self, path: str, data: bytes, *, upload: str = "upload00", **more: Any) -> dict[str, Any]:
        self.write(path, 0, data, upload=upload, **more)
        digest = hashlib.sha256(data).hexdigest()
        return self.whole("fs_commit", path, upload=upload, size=len(data), sha256=digest, **more)

    def write(self, path: str, offset: int, data: bytes, *, upload: str = "upload00", **more: Any) -> dict[str, Any]:
        return self.ask("fs_write", path, upload=upload, offset=offset, data=data, **more)

    def copy(self, path: str, to: str, *, to_root: Path | None = None, **more: Any) -> dict[str, Any]:
        return self.whole("fs_copy", path, to_root=str(to_root or self.root), to_path=to, **more)

    def move_code(self, path: str, to: str, **more: Any) -> str:
        return self.code("fs_move", path, to_root=str(self.root), to_path=to, **more)
