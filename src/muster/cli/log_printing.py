"""Prints log streams: lines of several tasks are interleaved, each with a prefix; a single task is printed unchanged.

The printer keeps at most one unfinished line per task, and at most a few KiB of it.
"""

import sys
from collections.abc import Iterable
from typing import TextIO

import click

from muster.cli.tables.colours import LABEL_COLOURS
from muster.cli.terminal import safe_log
from muster.client.handles import LogChunk

_LONGEST_LINE = 64 * 1024


class LogPrinter:
    def __init__(self, out: TextIO, job: str, *, prefixed: bool, coloured: bool, width: int = 0) -> None:
        """The job's name is left out of labels. `width` is the width of the widest label, if it is known."""
        self._out = out
        self._job = job
        self._prefixed = prefixed
        self._coloured = coloured
        self._width = width
        self._is_terminal = out.isatty()
        self._colours: dict[str, str] = {}
        self._unfinished: dict[str, str] = {}

    def print(self, chunks: Iterable[LogChunk]) -> None:
        """Prints until the stream ends. Text that was kept back is printed even if the stream fails."""
        try:
            for chunk in chunks:
                self._add(chunk)
        finally:
            self._finish()

    def _add(self, chunk: LogChunk) -> None:
        if not self._prefixed:
            self._out.write(self._shown(chunk.text))
            self._out.flush()
            return
        text = self._unfinished.pop(chunk.task, "") + chunk.text
        *lines, rest = text.split("\n")
        if len(rest) > _LONGEST_LINE:
            lines.append(rest)
        elif rest:
            self._unfinished[chunk.task] = rest
        if lines:
            prefix = self._prefix(chunk.task)
            self._out.write("".join(f"{prefix}{self._shown(line)}\n" for line in lines))
            self._out.flush()

    def _finish(self) -> None:
        for task, rest in self._unfinished.items():
            self._out.write(f"{self._prefix(task)}{self._shown(rest)}\n")
        self._unfinished.clear()
        self._out.flush()

    def _shown(self, text: str) -> str:
        return safe_log(text) if self._is_terminal else text

    def _prefix(self, task: str) -> str:
        label = task.removeprefix(f"{self._job}-")
        self._width = max(self._width, len(label))
        text = f"{label:<{self._width}} | "
        if not self._coloured:
            return text
        colour = self._colours.setdefault(task, LABEL_COLOURS[len(self._colours) % len(LABEL_COLOURS)])
        return click.style(text, fg=colour)


def printer(job: str, *, prefixed: bool, width: int = 0) -> LogPrinter:
    """A printer to stdout, with colours if it is a terminal. Characters that stdout cannot encode are replaced."""
    out = sys.stdout
    if hasattr(out, "reconfigure"):
        out.reconfigure(errors="replace")
    coloured = out.isatty() and click.get_current_context().find_root().color is not False
    return LogPrinter(out, job, prefixed=prefixed, coloured=coloured, width=width)
