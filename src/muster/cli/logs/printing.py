"""Prints log streams: lines of several tasks are interleaved, each with a prefix; those of a single task have none.

On a terminal, unfinished lines are redrawn at the bottom, one for each task, as progress bars need it. Into a pipe or a
file, only finished lines go.
"""

import os
import sys
from collections.abc import Callable, Iterable
from typing import Protocol, TextIO

import click

from muster.cli.logs.cells import RESET
from muster.cli.logs.line_filter import Keep, keep_all
from muster.cli.logs.output_lines import Line, OutputLines
from muster.cli.logs.redrawing import Redrawing
from muster.cli.logs.times import shown_time
from muster.cli.session import say
from muster.cli.tables.colours import LABEL_COLOURS
from muster.cli.terminal import safe_log
from muster.client.handles import LogChunk


class Destination(Protocol):
    """The place to which lines are printed."""

    def write(self, lines: str) -> None:
        """Prints text that ends with a newline, unless it is the end of the output or part of a long line."""
        ...

    def show(self, task: str, unfinished: list[str]) -> None:
        """The lines of this task that may still change."""
        ...

    def say(self, message: str) -> None:
        """Prints a message for the person who waits, on stderr."""
        ...

    def close(self) -> None: ...


class LogPrinter:
    def __init__(
        self, out: TextIO, job: str, *, prefixed: bool, coloured: bool, width: int = 0, keep: Keep = keep_all
    ) -> None:
        """The job's name is left out of labels. `width` is the width of the widest label, if it is known. Only lines
        that `keep` accepts are printed, when they are finished."""
        self._job = job
        self._prefixed = prefixed
        self._coloured = coloured
        self._width = width
        self._keep = keep
        self._is_terminal = out.isatty()
        self._shown: Callable[[str], str] = safe_log if self._is_terminal else str
        redrawn = self._is_terminal and os.environ.get("TERM") != "dumb"
        self._to: Destination = Redrawing(out, say) if redrawn else _Plain(out)
        self._colours: dict[str, str] = {}
        self._outputs: dict[str, OutputLines] = {}

    def print(self, chunks: Iterable[LogChunk]) -> None:
        """Prints until the stream ends. Text that was kept back is printed even if the stream fails."""
        try:
            for chunk in chunks:
                self._add(chunk)
        finally:
            self._finish()

    def say(self, message: str) -> None:
        """Prints a message to stderr, above the lines that are redrawn."""
        self._to.say(message)

    def _add(self, chunk: LogChunk) -> None:
        output = self._outputs.get(chunk.task)
        if output is None:
            output = self._outputs[chunk.task] = OutputLines(self._shown)
        elif not chunk.offset:
            self._to.write(self._printed(chunk.task, output.finish()))  # another attempt begins
        time, text = shown_time(chunk.time), chunk.text
        if output.unfinished and "\n" in text:
            end = text.index("\n") + 1
            self._to.write(self._printed(chunk.task, output.feed(text[:end], time)))
            text = text[end:]
        count = output.plain_lines(text) if self._is_easy(text) else 0
        if count:
            self._to.write(self._block(self._prefix(chunk.task, time), text[:count]))
        self._to.write(self._printed(chunk.task, output.feed(text[count:], time)))
        if self._keep is keep_all:
            prefix = self._prefix(chunk.task, time)
            self._to.show(chunk.task, [prefix + row for row in output.unfinished])

    def _finish(self) -> None:
        for task, output in self._outputs.items():
            self._to.show(task, [])
            self._to.write(self._printed(task, output.finish()))
        self._outputs.clear()
        self._to.close()

    def _printed(self, task: str, lines: list[Line]) -> str:
        return "".join(
            f"{self._prefix(task, line.time)}{self._closed(line.text)}{self._end(line)}"
            for line in lines
            if self._keep(line.text)
        )

    def _is_easy(self, text: str) -> bool:
        """Whether no line has to be looked at by itself."""
        return self._keep is keep_all and not (self._is_terminal and "\x1b" in text)

    def _block(self, prefix: str, lines: str) -> str:
        """Many lines at once."""
        shown = self._shown(lines)
        return prefix + shown[:-1].replace("\n", f"\n{prefix}") + "\n" if prefix else shown

    def _end(self, line: Line) -> str:
        """A long line of a single task stays one line in a file, and a file ends as the log does."""
        return "\n" if line.is_whole or self._prefixed or self._is_terminal else ""

    def _closed(self, text: str) -> str:
        """A colour that a line leaves on would colour what follows."""
        is_open = self._is_terminal and "\x1b[" in text and not text.endswith((RESET, "\x1b[m"))
        return text + RESET if is_open else text

    def _prefix(self, task: str, time: str) -> str:
        before = f"{time} " if time else ""
        return before + self._label(task) if self._prefixed else before

    def _label(self, task: str) -> str:
        label = task.removeprefix(f"{self._job}-")
        self._width = max(self._width, len(label))
        text = f"{label:<{self._width}} | "
        if not self._coloured:
            return text
        colour = self._colours.setdefault(task, LABEL_COLOURS[len(self._colours) % len(LABEL_COLOURS)])
        return click.style(text, fg=colour)


class _Plain:
    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, lines: str) -> None:
        if lines:
            self._out.write(lines)
            self._out.flush()

    def show(self, task: str, unfinished: list[str]) -> None:
        """What is unfinished is printed when it is finished."""

    def say(self, message: str) -> None:
        say(message)

    def close(self) -> None:
        self._out.flush()


def printer(job: str, *, prefixed: bool, width: int = 0, keep: Keep = keep_all) -> LogPrinter:
    """A printer to stdout, with colours if it is a terminal. Characters that stdout cannot encode are replaced."""
    out = sys.stdout
    if hasattr(out, "reconfigure"):
        out.reconfigure(errors="replace")
    coloured = out.isatty() and click.get_current_context().find_root().color is not False
    return LogPrinter(out, job, prefixed=prefixed, coloured=coloured, width=width, keep=keep)
