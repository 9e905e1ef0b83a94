"""Somebody who changes a folder while the agent works in it."""

import contextlib
import shutil
import threading
from pathlib import Path


class Swapping(threading.Thread):
    """For ever puts a link to outside where a folder was, and back."""

    def __init__(self, root: Path, outside: Path) -> None:
        super().__init__(daemon=True)
        self._root = root
        self._outside = outside
        self._is_over = threading.Event()
        self.swaps = 0

    def run(self) -> None:
        door, folder = self._root / "work", self._root / "kept"
        link = self._root / "link"
        while not self._is_over.is_set():
            try:
                link.symlink_to(self._outside)
                door.rename(folder)
                link.rename(door)
                door.unlink()
                folder.rename(door)
                self.swaps += 1
            except OSError:  # an operation put a folder where none was
                self._begin_again(door, folder, link)

    def _begin_again(self, door: Path, *others: Path) -> None:
        """The operations under test go on meanwhile: what they spoil is cleared again at the next turn."""
        for path in (door, *others):
            with contextlib.suppress(OSError):
                if path.is_symlink():
                    path.unlink()
                else:
                    shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):
            (door / "below").mkdir(parents=True)

    def stop(self) -> None:
        self._is_over.set()
        self.join(10)
