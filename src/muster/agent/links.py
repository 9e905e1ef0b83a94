"""Links in a task's working folder to folders of the node: mounts of tasks that have no container."""

from __future__ import annotations

import errno
import os
from typing import Mapping


def make(work: str, links: Mapping[str, str]) -> None:
    """`links` are names in the working folder, with `/` between folders, and where they lead. Making them twice is
    harmless. Where they lead is not looked at: a file server that is away must not hold us up."""
    for target, source in links.items():
        path = _place_in(work, target)
        try:
            os.symlink(source, path)
        except FileExistsError:
            if not os.path.islink(path) or os.readlink(path) != source:
                raise FileExistsError(
                    errno.EEXIST, "the mount's target {!r} is in the package already; choose another".format(target)
                ) from None


def _place_in(work: str, target: str) -> str:
    """A link in the package must not lead a mount elsewhere."""
    *parents, name = target.split("/")
    folder = work
    for part in parents:
        folder = os.path.join(folder, part)
        try:
            os.mkdir(folder, 0o755)
        except FileExistsError:
            if os.path.islink(folder) or not os.path.isdir(folder):
                raise NotADirectoryError(
                    errno.ENOTDIR, "the mount's target {!r} lies below something that is no folder".format(target)
                ) from None
    return os.path.join(folder, name)
