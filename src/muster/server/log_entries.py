"""Entries of the server's own log."""

import json
from typing import Any


def entry_of(line: bytes) -> dict[str, Any]:
    """A line that is not complete, because the disk was full, is shown as it is."""
    text = line.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"event": text}
