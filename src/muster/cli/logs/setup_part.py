"""The part of a log that the setup of the job has printed: from the first line about it to the line that ends it."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from muster.client.handles import LogChunk

_BEGIN = "muster: setup: "
_END = re.compile(r"muster: setup: (ready|failed with exit code)")
_LONGEST_LINE = 64 * 1024


def setup_part(chunks: Iterable[LogChunk], tasks: Collection[str] | None) -> Iterator[LogChunk]:
    """Ends when the setup of all these tasks has ended; with the chunks, if they are not known."""
    parts: dict[str, _Part] = {}
    for chunk in chunks:
        part = parts.setdefault(chunk.task, _Part())
        if text := part.take(chunk.text):
            yield replace(chunk, text=text)
        if tasks is not None and all(task in parts and parts[task].is_over for task in tasks):
            return


class _Part:
    """What comes before the first line of the setup is that of a prolog, and is left out."""

    def __init__(self) -> None:
        self.is_over = False
        self._has_begun = False
        self._unfinished = ""

    def take(self, text: str) -> str:
        if self.is_over:
            return ""
        lines = (self._unfinished + text).splitlines(keepends=True)
        self._unfinished = lines.pop() if lines and not lines[-1].endswith("\n") else ""
        if len(self._unfinished) > _LONGEST_LINE:
            lines.append(self._unfinished)
            self._unfinished = ""
        shown = []
        for line in lines:
            self._has_begun = self._has_begun or line.startswith(_BEGIN)
            if self._has_begun:
                shown.append(line)
            if _END.match(line):
                self.is_over = True
                break
        return "".join(shown)
