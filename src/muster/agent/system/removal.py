"""Removes trees of files, whatever their rights. It is apart from `disk` because the shim removes none."""

from __future__ import annotations

import os
import shutil


def remove_tree(path: str) -> None:
    """Remove a folder without following links, also where its owner took away their own permissions."""
    shutil.rmtree(path, ignore_errors=True)
    if not os.path.lexists(path):
        return
    for parent, names, _ in os.walk(path):
        for name in names:
            child = os.path.join(parent, name)
            if not os.path.islink(child):
                os.chmod(child, 0o700)
    shutil.rmtree(path, ignore_errors=True)
