"""Checks whether the GPUs are described to container engines (CDI) by their numbers, and says what to do if not.

Without such a description an engine refuses `nvidia.com/gpu=0`, and with it the whole task.
"""

from __future__ import annotations

import os
import re
from typing import Iterator, List, Sequence

FOLDERS = ("/etc/cdi", "/var/run/cdi")

_KIND = re.compile(r"\"?kind\"?\s*:\s*\"?nvidia\.com/gpu\"?\s*(,|}|$)", re.MULTILINE)
_FIRST_GPU = re.compile(r"\"?name\"?\s*:\s*[\"']?0[\"']?\s*(,|}|$)", re.MULTILINE)
_MOST_BYTES = 4 << 20
_MAKE = "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"


def missing(folders: Sequence[str] = FOLDERS) -> str:
    """Says what is missing, and what to do about it; empty if the GPUs are described."""
    unreadable: List[str] = []
    unnumbered = ""
    for path in _files(folders):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read(_MOST_BYTES)
        except OSError:
            unreadable.append(path)
            continue
        if _KIND.search(text) and _FIRST_GPU.search(text):
            return ""
        unnumbered = unnumbered or (path if _KIND.search(text) else "")
    if unnumbered:
        return "{} names no GPU by its number: {} --device-name-strategy=index".format(unnumbered, _MAKE)
    if unreadable:
        return "{0} cannot be read: chmod a+r {0}".format(unreadable[0])
    return "nothing in {} describes the GPUs: {}".format(" or ".join(folders), _MAKE)


def _files(folders: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            if name.endswith((".yaml", ".json")):
                yield os.path.join(folder, name)
